# The rule sheets (RulesService). Which line stands on which sheet is decided in service/rules/rule_lines.py.

title = Durak

variant-deck = { $deck } cards
variant-seats = { $seats } players
variant-podkidnoy = podkidnoy (throw-in)
variant-perevodnoy = perevodnoy (with transfers)
variant-neighbours = neighbours throw in
variant-all = everybody throws in
variant-draw = draws allowed
variant-no-draw = no draws
variant-five = five-card opening
variant-tricky = tricky table
variant-timer = { $time } for each decision
variant-stake = { $coins ->
    [one] stake of { $coins } coin
   *[other] stake of { $coins } coins
}
variant-version = rules version { $version }

goal-title = The aim
setup-title = The deal
flow-title = A bout, step by step
moves-title = What beats what, and what you may do
scoring-title = Places and counting
end-title = How the match ends
special-title = Special cases
locked-title = Not played at this table
time-title = Time and leaving
tricky-title = Tricky table
bots-title = Bots

goal = Get rid of all your cards. Whoever is left holding cards when the others have none is the durak, the fool.

setup-deck = { $seats } players and a deck of { $deck } cards: { $deck ->
    [24] 9, 10, jack, queen, king and ace in each suit
    [36] from the six up to the ace in each suit
   *[other] from the two up to the ace in each suit
}. The ace is the highest.
setup-deal-stock = Everybody is dealt six cards. The next card is turned up and put under the stock: its suit is trumps for the whole match. The stock then has { $stock } cards, and the one turned up is drawn last.
setup-deal-all = The whole deck is dealt, six cards to each. The last card dealt is shown to all: its suit is trumps. It stays with the player who got it; there is no stock.
setup-first = Whoever holds the lowest trump attacks first.
setup-first-lot = Whoever holds the lowest trump attacks first. If nobody was dealt a trump, the first attacker is drawn by lot from the same shuffle.
setup-fair = Nothing is dealt again, whatever the hand. After the match anybody can check the shuffle.

flow-lead-two = The attacker leads any card from their hand; the other player defends.
flow-lead-many = The attacker leads any card from their hand; the next player clockwise defends.
flow-answer = The defender beats the cards that attack, one card for each and in any order, or takes. They may also take what they could beat.
flow-answer-transfer = The defender beats the cards that attack, one card for each and in any order, or transfers the attack, or takes. They may also take what they could beat.
flow-throw-two = The attacker can throw in more cards, as long as their rank lies on the table.
flow-throw-neighbours = Players on either side of the defender can throw in more cards, as long as their rank lies on the table. Whoever is quicker plays first.
flow-throw-all = Everybody still playing, except the defender, can throw in more cards, as long as their rank lies on the table. Whoever is quicker plays first.
flow-cap = A bout has at most six attack cards, and never more than the defender held when it fell to them to defend. The table shows how many may still come.
flow-cap-opening = Until somebody at the table has defended successfully, a bout has at most five attack cards; from the next bout on, six. It never has more than the defender held when it fell to them to defend. The table shows how many may still come.
flow-beaten-two = When everything is beaten and the attacker throws in no more, the cards go to the discard pile for good, and the defender attacks next.
flow-beaten-many = When everything is beaten and nobody throws in more, the cards go to the discard pile for good, and the defender attacks next.
flow-taken-two = While a card is unbeaten, the defender can say “take”. There is no going back on it. The attacker may throw in more within the same limit, then the defender picks up the whole table, and the attacker attacks again.
flow-taken-many = While a card is unbeaten, the defender can say “take”. There is no going back on it. The others may throw in more within the same limit, then the defender picks up the whole table and loses the turn to attack: it passes to the player after them.
flow-draw-two = After the bout both draw back up to six cards while the stock lasts, the attacker first.
flow-draw-many = After the bout hands are filled up to six cards while the stock lasts: the attacker first, then the others clockwise, the defender last.
flow-draw-none = There is no stock, so nobody draws after a bout.

moves-suit = A card beats a lower card of the same suit.
moves-trump = Any trump beats any card of another suit: even the trump { $deck ->
    [24] nine
    [36] six
   *[other] two
} beats an ace.
moves-trump-only = Only a higher trump beats a trump.
moves-throw = You can throw in a card only if its rank is on the table already, among the attack cards or the cards that beat them.
moves-pass = You can pass once everything is beaten or the defender has said “take”. Each card played after that lets everybody think again.
moves-close = The bout closes by itself when no more attack cards are allowed, or when nobody who could throw in has a card left.
moves-transfer = As long as nothing is beaten and “take” is not said, the defender can lay a card of the rank led beside the attack instead of beating it. The whole attack then faces the next player. This holds from the first bout on.
moves-transfer-two = The one who transferred is now the attacker: the whole attack faces the other player, who can transfer it back with one more card of that rank.
moves-transfer-many = The one who transferred is now the attacker; the next player can transfer further with one more card of that rank.
moves-transfer-room = You cannot transfer if the new defender holds fewer cards than they would have to face, or beyond six attack cards.
moves-transfer-room-opening = You cannot transfer if the new defender holds fewer cards than they would have to face, or beyond six attack cards (five until the first successful defence).

scoring-places-two = Cards taken cost nothing and cards beaten earn nothing: what counts is who is rid of their cards.
scoring-places-many = Cards taken cost nothing and cards beaten earn nothing: places follow the order in which players go out, and the durak comes last.
scoring-shared = Players who go out in the same bout share a place, whoever laid the last card first.
scoring-free = The table is free: no coins are at stake.
scoring-stake = { $coins ->
    [one] Each player puts in { $coins } coin
   *[other] Each player puts in { $coins } coins
} on sitting down; the bank holds { $bank }. Whoever has too few is not seated.
scoring-bank-two = The winner takes the whole bank; the durak gets nothing.
scoring-bank-many = The bank is shared by place: { $shares }. The durak gets nothing.
scoring-share = { $coins ->
    [one] { $coins } coin
   *[other] { $coins } coins
} for place { $place }
scoring-bank-shared = Players who share a place split the shares of the places that they cover evenly; a coin left over goes to whoever comes earlier in the drawing order.
scoring-back = In a draw, and when the table is closed before the deal, everybody gets their stake back.
scoring-leaver-two = If a player leaves, their stake goes to the other, who also gets their own back.
scoring-leaver-many = If a player leaves, their stake is split evenly between the others, odd coins to the lower seats; the others also get their own back.
scoring-coins = Coins are play money: they buy nothing, cannot be given away and cannot be turned into money.
scoring-series = If the match is part of a series, it gives one win to the first place and one loss to the durak; a draw gives neither.
scoring-series-this = This match is part of a series: it gives one win to the first place and one loss to the durak; a draw gives neither.
scoring-rating = Only a match that was played out changes the rating: by how strong the opponents are, and with a daily limit on points won from bots.

end-stock = Once the stock is used up, the trump card included, nobody draws any more.
end-stock-none = As there is no stock, whoever gets rid of six cards, and of what they take, is done.
end-out = With no stock left, a player without cards is out, but only when the bout is over.
end-durak-two = Who still holds cards when the other is out is the durak.
end-durak-many = The last player who holds cards is the durak.
end-draw-two = If both hands empty in the same bout, the match is a draw.
end-draw-many = If the last hands empty in the same bout, the match is a draw between those players.
end-no-draw = There is no draw on cards: if the last hands empty in the same bout, its defender, who laid the last card, is the durak.
end-fifty = After fifty bouts in a row without a card going to the discard pile, the match is a draw between those still playing.
end-next = If the player who should attack next is out, the next one clockwise who is still playing attacks.

special-empty = An empty hand in the middle of a bout is not a win yet: the result is read when the bout is over and everybody has drawn.
special-takes = Whoever takes picks up everything, also the pairs already beaten.
special-last-transfer = You may transfer with your last card. You are out only if your hand is still empty when the bout is over.
special-not-draw = A table closed before the deal, or a match that somebody left, is not a draw: it gives neither points nor wins.
special-house = What was chosen for the table stands above every house rule.

locked-preset = The rules come from the preset “{ $preset }”; what it fixes cannot be changed.
locked-decks = Decks of { $deck ->
    [24] 36 and 52
    [36] 24 and 52
   *[other] 24 and 36
} cards.
locked-transfer = Transferring the attack to the next player (perevodnoy).
locked-neighbours = Throwing in by players who do not sit next to the defender.
locked-draw = A draw when the last hands empty together.
locked-five = The five-card opening: six attack cards are allowed from the start.
locked-tricky = Cheating and challenges: a card that the rules do not allow cannot be played.
locked-jokers = Jokers, and dealing again.

time-turn = Each decision has a limit of { $time }.
time-acts = When time runs out the server plays for you: it leads the lowest plain card (the lowest trump if there is no other), takes, or passes.
time-three = Running out of time three times in a row counts as leaving.
time-restart = The clock keeps running while the server restarts.
time-none = There is no turn timer. Still, whoever keeps the table waiting for more than { $idle } counts as having left.
time-fill = A table that does not fill within { $idle } is closed.
time-tricky = Everybody whose pass is awaited is on the clock.
time-connection = Losing the connection is not leaving: you can come back and play on.
time-before = Until the last seat is taken you can give up yours, and whoever opened the table can close it.
time-leave = Leaving after the deal is final: it ends the match without a result, and the one who left is named.

tricky-plays = You may play a card that you have no right to: throw in a rank that is not on the table, or “beat” with a card that does not beat. It must be a card of your own, in your own role, and within the limit on attack cards.
tricky-plays-transfer = You may play a card that you have no right to: throw in a rank that is not on the table, “beat” with a card that does not beat, or transfer with the wrong rank or too late. It must be a card of your own, in your own role, and within the limit on attack cards.
tricky-silent = The server says nothing: such a move stands and looks like any other.
tricky-challenge-two = Until the bout is over the other player can challenge it, each move once at most.
tricky-challenge-many = Until the bout is over everybody else still playing can challenge it, each move once at most.
tricky-verdict = The rules decide. Whoever was wrong, the cheat or the false accuser, picks up the whole table, and the bout ends. If that is the defender, the attack passes over them; otherwise the defender attacks next.
tricky-verdict-opening = A bout that ends like this is not the first successful defence.
tricky-close-two = The bout closes only when the attacker has passed, even with no cards in hand: there is always a moment to challenge.
tricky-close-many = The bout closes only when everybody but the defender has passed, even those without cards: there is always a moment to challenge.
tricky-stands = What nobody challenged in time stands for good. An audit still finds it.

bots-none = Bots do not sit at tables with a stake.
bots-sees = A bot knows what a player in its seat knows and no more: its own hand, the open cards, what has happened before its eyes, and the moves allowed.
bots-easy = Easy: attacks with low cards and beats with the smallest card that will do.
bots-normal = Normal: saves its trumps, throws in ranks that the defender seems not to have, and minds how much of the stock is left.
bots-hard-two = Hard: remembers every card that was seen, and once the stock is empty works out the ending exactly.
bots-hard-many = Hard: remembers every card that was seen, and plans the ending once the stock is empty; with two players left its plan is exact.
bots-tricky = Bots never cheat. The hard one challenges what it sees, the normal one now and then, the easy one never.

duration-days = { $count ->
    [one] { $count } day
   *[other] { $count } days
}
duration-hours = { $count ->
    [one] { $count } hour
   *[other] { $count } hours
}
duration-minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}
duration-seconds = { $count ->
    [one] { $count } second
   *[other] { $count } seconds
}

preset-duraka-net = Classic for two
preset-duraka-net-about = Two players, 36 cards, throwing in, no transfers. A draw is possible.
preset-duraka-net-transfer = Classic for two, with transfers
preset-duraka-net-transfer-about = Two players, 36 cards, throwing in and transfers. A draw is possible.
preset-durak-peak = Five-card opening
preset-durak-peak-about = Five attack cards at most until the first successful defence, six after it. Everything else is yours to choose.
preset-classic-1-0-0 = Podkidnoy, version 1.0.0
preset-classic-1-0-0-about = 36 cards, two to six players, everybody throws in, six attack cards from the start, no transfers, no stake. A draw is possible.
