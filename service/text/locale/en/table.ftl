# The texts of a match at a terminal: settings, events, the table, moves. Sentences are in the present tense, so that
# they do not depend on the gender of a player.

settings = { $deck } cards, { $seats } seats, { $transfer ->
    [yes] perevodnoy
   *[no] podkidnoy
  }, { $circle ->
    [neighbours] neighbours throw in
   *[all] all throw in
  }, { $draws ->
    [yes] draws possible
   *[no] no draws
  }
setting-opening = five-card opening
setting-tricky = tricky
setting-timer = { $seconds } s for a move
setting-stake = stake { $coins }
setting-preset = preset { $preset }

bot = Bot { $seat } { $level ->
    [easy] (easy)
    [normal] (normal)
   *[hard] (hard)
  }
nobody = seat { $seat }

event-table-opened = A table is opened: { $settings }.
event-seat-taken = { $player } sits down on seat { $seat }.
event-seat-vacated = { $player } gives up seat { $seat }.
event-player-removed = { $player } is removed from seat { $seat }.
event-seed-revealed = { $player } reveals the secret for the shuffle.
event-dealt = The cards are dealt: trumps are { $trump } ({ $card }), { $stock } cards in the stock.
event-hand = { $player } is dealt { $cards }.
event-led = { $player } leads { $card }.
event-thrown-in = { $player } throws in { $card }.
event-defended = { $player } beats { $attack_card } with { $card }.
event-transferred = { $player } transfers to { $defender } with { $card }.
event-passed = { $player } passes.
event-take-declared = { $player } says “take”.
event-took = { $player } picks up { $count ->
    [one] the card
   *[other] { $count } cards
  } on the table: { $cards }.
event-took-cheat = { $player } was caught cheating and picks up { $cards }.
event-took-false-accusation = { $player } challenged a legal play and picks up { $cards }.
event-discarded = Beaten: { $count } cards go to the discard pile.
drawn = { $count } ({ $cards })
event-drew = Drawn: { $draws }.
event-went-out = Out in place { $place }: { $players }.
event-challenged = { $player } challenges what { $accused } played: { $verdict ->
    [upheld] it was illegal
   *[legal] it was legal
  }.
event-timed-out = { $player } runs out of time.
event-left = { $player } leaves the match{ $reason ->
    [timeouts] { " " }after three timeouts in a row
    [idle] { " " }after keeping the table waiting
   *[resigned] { "" }
  }.
event-played-out = { $durak } is the durak. Places: { $places }.
event-draw = A draw between { $players }.
event-shares = Coins paid out: { $shares }.
event-cancelled = The table is closed before the deal.
event-deal-prevented = The table is closed before the deal: { $players } did not reveal the secret, or left meanwhile.
event-abandoned = The match is abandoned: { $leaver } left.

bout = Bout { $bout }: { $attacker } attacks { $defender } · hands { $hands } · stock { $stock }
place = { $place }. { $players }

match-phase = { $phase ->
    [waiting] waiting
    [revealing] revealing
    [playing] playing
   *[ended] ended
  }
table-match = Match { $match }, version { $version }: { $settings }.
table-bout = Bout { $bout } · trumps { $trump } ({ $card }) · stock { $stock } · discard pile { $discard }
table-waiting = Waiting for players · { $settings }
table-revealing = The players reveal their secrets for the shuffle · { $settings }
table-ended = The match is over.
seat-free = free
seat-you = you
seat-attacks = attacks
seat-defends = defends
seat-takes = takes
seat-passed = passed
seat-out = out, place { $place }
seat-to-move = to move
on-table = On the table: { $cards }
attacks-left = { $count ->
    [0] No more attack cards are allowed in this bout.
    [one] One more attack card is allowed.
   *[other] { $count } more attack cards are allowed.
  }
hand = Your hand: { $cards }
hand-of = Hand of { $player }: { $cards }
stock = Stock, the next card first: { $cards }

turn-yours = Your move{ $until ->
    [none] { "" }
   *[other] { " " }(until { $until })
  }:
turn-others = Waiting for { $players }.
turn-reveal = Shuffling: waiting for the secrets of { $players }.
seats-free = { $count } free
seats-missing =
    Seats still free: { $count }. Others sit down with:
    { $command }

move-lead = lead { $card }
move-throw-in = throw in { $card }
move-beat = beat { $attack_card } with { $card }
move-transfer = transfer with { $card }
move-take = take
move-pass = pass
move-challenge = challenge { $card } of { $player }

answer-help = Type the number of a move, or a card: 6h, 10♠, Qd, Дч. To choose the card to beat, type both: 6h 9h. Words: take, pass, table, leave (frees your seat before the deal, ends the match after it), quit (leaves only this terminal).
answer-help-tricky = This table is tricky: you can play any of your cards in your role by typing it, even an illegal one. A player who is caught, or who challenges a legal card, picks up the table.
answer-unknown = “{ $answer }” is not a move. Type ? for help.
answer-not-now = { $card } cannot be played now.
answer-ambiguous = { $card } can be played in several ways: type the number.
answer-nothing = It is not your move.
answer-changed = The table has changed since you chose; nothing was played. Choose again.
answer-leave = Leaving is final and ends the match for everybody. Type “leave” once more to leave.
answer-leave-rematch = Leaving closes the rematch for everybody. Type “leave” once more to leave.
answer-leave-revealing = If you leave now, the cards are not dealt, and the table closes for everybody. Type “leave” once more to leave.
answer-watching = You are only watching: you have no seat.
watching = You are watching: you have no seat. Stop with Ctrl-C.

connection-lost = The connection is lost; trying again …
connection-back = The connection is back.
come-back =
    The match goes on without this terminal. Come back with:
    { $command }
share-link =
    This table is private. Others join it with:
    { $command }

come-back-waiting =
    The table goes on waiting for players. Come back with:
    { $command }

# durak review

review-version = Version
review-player = Player
review-move = Move
review-result = Best result
review-better = Better
review-win = win
review-draw = draw
review-loss = loss
review-undecided = not decided
review-attack = play { $card }
review-wait = wait
review-clock = time was over
review-summary = { $player }: kept the result { $kept }, gave it away { $given }, not decided { $undecided }
review-nothing = There is nothing to review: no move was made with two players left and an empty stock.

play-again =
    Play again with:
    { $command }
review-it =
    See which endgame moves gave the result away:
    { $command }
series-stands =
    See the score of the series:
    { $command }
coins-balance = Coins: { $available }, and { $escrow } in stakes of matches that have not ended.
coins-transfer = { $kind ->
    [opening] opening balance
    [grant] grant
    [stake] stake
    [refund] stake given back
    [post] stake into the bank
    [payout] share of the bank
    [correction-in] correction after a dispute
   *[correction-out] correction after a dispute
  }
rating = { $points } points  { $player }: matches { $matches }, won { $wins }, lost { $losses }, matches left { $left } (of them lost positions { $losing }), points from bots today { $bots }
rating-numbers = Everybody starts with { $initial } points. A match adds or takes at most { $match }. A difference of { $scale } points means odds of ten to one. Bots count as { $easy } (easy), { $normal } (normal), { $hard } (hard); matches against them add at most { $day } points a day.
series = Matches played out: { $matches }, of them draws: { $draws }
series-seat = { $player }: { $wins } won, { $losses } lost

deal-verified = Deal verified with your secret: the cards follow from it and from all promises made before it was revealed.
deal-false = THE DEAL IS FALSE: { $fault }. Save the secret's file and the events, and report it.
deal-unchecked = The deal cannot be checked: there is no secret of yours here, or no cards were dealt.
secret-missing = Your secret for this shuffle is not on this computer. Reveal it from where you sat down, or the table closes.
secret-refused = Your secret was not accepted: { $reason }

feed-your-turn = Your turn until { $until }: match { $match }
feed-invitation = { $player } invites you: table { $match }
feed-rematch-offered = A rematch has a seat for you: table { $match }
feed-seat-taken = { $player } sat down on seat { $seat }: table { $match }
feed-bot-seated = A bot sat down on seat { $seat }: table { $match }
feed-seat-vacated = { $player } gave up seat { $seat }: table { $match }
feed-seat-removed = { $player } was removed from seat { $seat }: table { $match }
feed-dealt = The cards are dealt: match { $match }
feed-match-over = { $outcome ->
    [played-out] The match is over
    [draw] The match ended in a draw
    [cancelled] The table was closed before the deal
   *[abandoned] The match was abandoned
  }: { $match }
feed-dispute = { $status ->
    [open] A dispute is open
    [correction-pending] A ruling with a correction of coins waits for an operator
    [upheld] The complaint was right
   *[rejected] The complaint was wrong
  }: dispute { $dispute } about match { $match }
feed-coins-moved = { $coins } coins, { $available } available: { $kind }
feed-rating-changed = Your rating is { $points }: match { $match }
