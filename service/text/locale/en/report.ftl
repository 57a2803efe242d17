# The report of an audit, as a page (`durak audit report`).

title = Match { $match }
players = Players: { $players }
times = Played from { $start } to { $end }
state = { $state ->
    [ended] Ended
   *[running] Still running
  }, { $records } records
verdict-proven = Proven: no fault, and the service has signed for every byte of the records.
verdict-consistent = No fault, but nobody vouches for the records.
verdict-refuted = Refuted: { $faults ->
    [one] one fault.
   *[other] { $faults } faults.
  }
about = The match
proven = What is proven
not-proven = What is not proven
coins = Coins
coins-version = Version
coins-player = Player
coins-kind = Why
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
controls = Go through the match
slider = Record
first = First
back = Back
next = Next
end = Last
hands = Open hands
next-finding = Next finding
keys-heading = Keys
keys = ← → one record back or on · Page up, Page down: by bouts · Home, End: the first, the last · F: the next finding, Shift+F: the one before · H: hands open or closed
no-script = Without scripts there is no picture of the table; all moves and findings are below.
footer = Made from a transcript alone. The page loads nothing and sends nothing. It shows every hand: keep it from players while the match runs.

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
label-broken = No table follows from the records up to here. Below is the last one that did.
