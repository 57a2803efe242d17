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
