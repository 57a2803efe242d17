# The texts of the HTML report (`durak audit report`).

title = Match { $match }
players = Players: { $players }
times = Played from { $start } to { $end }
state = { $state ->
    [ended] Ended
   *[running] Still running
  }, { $records } records
verdict-proven = Proven: no faults, and the service has signed every byte of the records.
verdict-consistent = No faults, but the records are not proven.
verdict-refuted = Refuted: { $faults ->
    [one] one fault.
   *[other] { $faults } faults.
  }
about = The match
proven = Proven
not-proven = Not proven
coins = Coins
coins-version = Version
coins-player = Player
coins-kind = Reason
coins-amount = Coins
coins-entry = { $kind ->
    [stake] stake
    [refund] stake returned
    [payout] share of the bank
   *[other] { $kind }
}
fault = Fault ({ $kind }, { $clause }): expected { $expected }, found { $found }.
note = Note ({ $kind }, { $clause }): expected { $expected }, found { $found }.
illegal = Illegal play of { $card } ({ $clause }), allowed at this table; nobody challenged it.
illegal-caught = Illegal play of { $card } ({ $clause }), allowed at this table; caught at version { $version }.

board-heading = The table
moves-heading = Move by move
controls = Step through the match
slider = Record
first = First
back = Back
next = Next
end = Last
hands = Open hands
next-finding = Next finding
keys-heading = Keys
keys = ← →: previous or next record · Page Up, Page Down: previous or next bout · Home, End: first or last record · F, Shift+F: next or previous finding · H: open or close the hands
no-script = Without JavaScript the table is not drawn. All moves and findings are below.
footer = Made from the transcript alone. The page loads and sends nothing. It shows every hand: do not give it to players while the match is running.

label-attacks = attacks
label-defends = defends
label-takes = takes
label-passed = passed
label-clock = to move
label-out = out, place { $place }
label-none = no cards
label-closed = { $count } cards, face down
label-table = On the table
label-beaten = { $attack }, beaten by { $defence }
label-empty = No cards on the table
label-trumps = Trumps
label-stock = Stock
label-discard = Discard pile
label-undealt = The cards are not dealt.
label-broken = The records up to here do not make a table. Below is the last valid table.

proof-heading = Checked in this browser
proof-key = Public key of the service
proof-checks = The checks
proof-limits = Not checked here: the sentences of the log, whose turn it was, who could throw in and how much, the limits of time, and the shares of the bank.
proof-trust = Take the key from another source than this page. The sender of the page could have changed its script: for a proof that does not depend on it, save the transcript and run “durak verify”.
proof-save = Save the transcript
proof-state-proven = Proven: the key has signed every byte of these records.
proof-state-refuted = Refuted. This does not hold: { $claim }.
proof-state-key = Not proven yet: no check failed, but the signature needs the public key.
proof-state-bad-key = This is not a complete public key. Paste it as name+key id+base64.
proof-state-checkpoint = Not proven: no check failed, but the service has not signed this match.
proof-state-crypto = Not checked: this browser has no WebCrypto here. Open the saved file itself, in a current browser.
proof-state-ed25519 = Not proven: no check failed, but this browser cannot check Ed25519 signatures. Use a current browser.
check-format = the file is a transcript of version 1
check-link = the hash chain is valid at version { $value }
check-record = record { $value } has the right match and version
check-chain = the hash chain is valid over { $value } records
check-seed = the server seed matches its commitment
check-end = the seed revealed at the end is the same
check-promises = every promised secret is revealed
check-secrets = each secret has the hash that its seat promised
check-hands = the hands follow from the shuffle
check-trump = the trump card follows from the shuffle
check-stock = the stock follows from the shuffle
check-first = the right seat leads the first bout
check-play = the cards of version { $value } were there to be moved, and fit the table
check-cards = every card comes from the deal and fits the table
check-ledger = the coins are those that the events demand
check-size = proof and checkpoint belong to the same tree
check-tree = the match is in the tree of { $value }
check-key = the public key is complete
check-signed = { $value } has signed the checkpoint
check-shown = the tables on this page are those of the records
