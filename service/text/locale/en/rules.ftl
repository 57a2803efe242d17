# The texts of the rule sheets (RulesService). service/rules/rule_lines.py chooses the lines of a sheet.

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

goal = Get rid of all your cards. The last player with cards is the durak (the fool).

setup-deck = { $seats } players and a deck of { $deck } cards: { $deck ->
    [24] 9, 10, jack, queen, king and ace in each suit
    [36] from the six up to the ace in each suit
   *[other] from the two up to the ace in each suit
}. The ace is the highest.
setup-deal-stock = Everybody is dealt six cards. The next card is turned up and put under the stock: its suit is trumps for the whole match. The stock then has { $stock } cards, and the card turned up is drawn last.
setup-deal-all = The whole deck is dealt, six cards to each. The last card dealt is shown to all: its suit is trumps. It stays with the player who got it; there is no stock.
setup-first = The player with the lowest trump attacks first.
setup-first-lot = The player with the lowest trump attacks first. If nobody was dealt a trump, the first attacker is drawn by lot from the same shuffle.
setup-fair = Cards are never dealt again, whatever the hands are. After the match anybody can check the shuffle.
setup-secrets = Players may promise a secret for the shuffle when they sit down. When the table is full they reveal it, and every secret decides the deck. If one is not revealed in time, the table is cancelled and stakes come back.

flow-lead-two = The attacker leads any card from their hand; the other player defends.
flow-lead-many = The attacker leads any card from their hand; the next player clockwise defends.
flow-answer = The defender beats the attack cards, one card for each and in any order, or takes. The defender may also take cards that they could beat.
flow-answer-transfer = The defender beats the attack cards, one card for each and in any order, or transfers the attack, or takes. The defender may also take cards that they could beat.
flow-throw-two = The attacker can throw in more cards of ranks that are on the table.
flow-throw-neighbours = Players on either side of the defender can throw in more cards of ranks that are on the table. The quickest player plays first.
flow-throw-all = Everybody still playing, except the defender, can throw in more cards of ranks that are on the table. The quickest player plays first.
flow-cap = A bout has at most six attack cards, and never more than the cards that the defender held when their defence began. The table shows how many are still allowed.
flow-cap-opening = Until the first successful defence at the table, a bout has at most five attack cards; from the next bout on, six. It never has more than the cards that the defender held when their defence began. The table shows how many are still allowed.
flow-beaten-two = When all cards are beaten and the attacker throws in no more, the cards go to the discard pile and do not come back. The defender attacks next.
flow-beaten-many = When all cards are beaten and nobody throws in more, the cards go to the discard pile and do not come back. The defender attacks next.
flow-taken-two = While a card is unbeaten, the defender can say “take”, and cannot change it. The attacker may throw in more within the same limit. Then the defender picks up the whole table, and the attacker attacks again.
flow-taken-many = While a card is unbeaten, the defender can say “take”, and cannot change it. The others may throw in more within the same limit. Then the defender picks up the whole table and does not attack next: the player after them does.
flow-draw-two = After the bout both players draw up to six cards while the stock lasts, the attacker first.
flow-draw-many = After the bout everybody draws up to six cards while the stock lasts: the attacker first, then the others clockwise, the defender last.
flow-draw-none = There is no stock, so nobody draws after a bout.

moves-suit = A card beats a lower card of the same suit.
moves-trump = Any trump beats any card of another suit: even the trump { $deck ->
    [24] nine
    [36] six
   *[other] two
} beats an ace.
moves-trump-only = Only a higher trump beats a trump.
moves-throw = You can throw in a card only if its rank is already on the table, among the attack cards or the cards that beat them.
moves-pass = You can pass once all cards are beaten or the defender has said “take”. After another card is played, everybody decides again.
moves-close = The bout closes by itself when no more attack cards are allowed, or when no player who could throw in has a card left.
moves-transfer = While no card is beaten and “take” has not been said, the defender can lay a card of the rank led beside the attack instead of beating it. The whole attack then faces the next player. This is allowed from the first bout on.
moves-transfer-two = The player who transferred is now the attacker. The whole attack faces the other player, who can transfer it back with one more card of that rank.
moves-transfer-many = The player who transferred is now the attacker. The next player can transfer further with one more card of that rank.
moves-transfer-room = You cannot transfer if the new defender holds fewer cards than they would have to face, or beyond six attack cards.
moves-transfer-room-opening = You cannot transfer if the new defender holds fewer cards than they would have to face, or beyond six attack cards (five until the first successful defence).

scoring-places-two = Cards taken cost nothing and cards beaten earn nothing. Only getting rid of all cards counts.
scoring-places-many = Cards taken cost nothing and cards beaten earn nothing. Places follow the order in which players go out, and the durak comes last.
scoring-shared = Players who go out in the same bout share a place, no matter who played their last card first.
scoring-free = The table is free: no coins are at stake.
scoring-stake = { $coins ->
    [one] Each player puts in { $coins } coin
   *[other] Each player puts in { $coins } coins
} on sitting down; the bank holds { $bank }. A player with fewer coins cannot sit down.
scoring-bank-two = The winner takes the whole bank; the durak gets nothing.
scoring-bank-many = The bank is shared by place: { $shares }. The durak gets nothing.
scoring-share = { $coins ->
    [one] { $coins } coin
   *[other] { $coins } coins
} for place { $place }
scoring-bank-shared = Players who share a place split the shares of the places that they cover evenly. A coin left over goes to the player who draws earlier.
scoring-back = In a draw, and when the table is closed before the deal, everybody gets their stake back.
scoring-leaver-two = If a player leaves, their stake goes to the other player, who also gets their own stake back.
scoring-leaver-many = If a player leaves, their stake is split evenly between the others, with odd coins for the lower seats. The others also get their own stakes back.
scoring-coins = Coins are play money: they buy nothing, cannot be given away and cannot be exchanged for money.
scoring-series = If the match is part of a series, it gives one win to the first place and one loss to the durak; a draw gives neither.
scoring-series-this = This match is part of a series: it gives one win to the first place and one loss to the durak; a draw gives neither.
scoring-rating = Only a match that was played to the end changes ratings. The change depends on the strength of the opponents, and points won from bots have a daily limit.

end-stock = Once the stock is used up, including the trump card, nobody draws any more.
end-stock-none = There is no stock: a player who gets rid of six cards, and of all cards taken, is done.
end-out = With no stock left, a player without cards is out, but only when the bout is over.
end-durak-two = The player who still holds cards when the other is out is the durak.
end-durak-many = The last player who holds cards is the durak.
end-draw-two = If both hands empty in the same bout, the match is a draw.
end-draw-many = If the last hands empty in the same bout, the match is a draw between those players.
end-no-draw = There is no draw on cards: if the last hands empty in the same bout, its defender, who played the last card, is the durak.
end-fifty = After fifty bouts in a row without a card going to the discard pile, the match is a draw between those still playing.
end-next = If the player who should attack next is out, the next one clockwise who is still playing attacks.

special-empty = An empty hand in the middle of a bout is not a win yet. The result counts when the bout is over and everybody has drawn.
special-takes = A player who takes picks up all cards, including the pairs already beaten.
special-last-transfer = You may transfer with your last card. You are out only if your hand is still empty when the bout is over.
special-not-draw = A table closed before the deal, and a match that somebody left, is not a draw: it gives neither points nor wins.
special-house = The settings of the table override every house rule.

locked-preset = The rules come from the preset “{ $preset }”. Settings that it fixes cannot be changed.
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
time-acts = When time runs out, the server plays for you: it leads the lowest plain card (the lowest trump if you have no other), takes, or passes.
time-three = Running out of time three times in a row counts as leaving.
time-restart = The clock keeps running while the server restarts.
time-none = There is no turn timer. But a player who keeps the table waiting for more than { $idle } counts as having left.
time-fill = A table that does not fill within { $idle } is closed.
time-tricky = Every player whose pass is awaited is on the clock.
time-connection = Losing the connection is not leaving: you can come back and play on.
time-before = Until the last seat is taken you can give up yours, and the player who opened the table can close it.
time-leave = Leaving after the deal is final: it ends the match without a result, and everybody sees who left.

tricky-plays = You may play a card that the rules do not allow: throw in a rank that is not on the table, or “beat” with a card that does not beat. It must be your own card, played in your own role, and within the limit on attack cards.
tricky-plays-transfer = You may play a card that the rules do not allow: throw in a rank that is not on the table, “beat” with a card that does not beat, or transfer with the wrong rank or too late. It must be your own card, played in your own role, and within the limit on attack cards.
tricky-silent = The server does not report it: an illegal card stays on the table and looks like any other.
tricky-challenge-two = Until the bout is over, the other player can challenge it. Each play can be challenged once.
tricky-challenge-many = Until the bout is over, everybody else still playing can challenge it. Each play can be challenged once.
tricky-verdict = The rules decide. The player who was wrong, the cheat or the false accuser, picks up the whole table, and the bout ends. If that is the defender, the player after them attacks next; otherwise the defender attacks next.
tricky-verdict-opening = A bout that ends like this is not the first successful defence.
tricky-close-two = The bout closes only when the attacker has passed, even without cards in hand, so there is always time for a challenge.
tricky-close-many = The bout closes only when everybody but the defender has passed, even without cards in hand, so there is always time for a challenge.
tricky-stands = An illegal card that nobody challenged in time stays permanently. An audit still finds it.

bots-none = Bots do not sit at tables with a stake.
bots-sees = A bot knows only what a player in its seat knows: its own hand, the open cards, the moves so far, and the legal moves.
bots-easy = Easy: attacks with low cards and beats with the lowest card possible.
bots-normal = Normal: saves its trumps, throws in ranks that the defender seems not to have, and considers how much of the stock is left.
bots-hard-two = Hard: remembers every card seen, and once the stock is empty computes the endgame exactly.
bots-hard-many = Hard: remembers every card seen, and plans the endgame once the stock is empty; with two players left its plan is exact.
bots-tricky = Bots never cheat. The hard bot challenges every illegal play that it sees, the normal one sometimes, the easy one never.

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
preset-durak-peak-about = At most five attack cards until the first successful defence, six after it. You choose all other settings.
preset-classic-1-0-0 = Podkidnoy, version 1.0.0
preset-classic-1-0-0-about = 36 cards, two to six players, everybody throws in, six attack cards from the start, no transfers, no stake. A draw is possible.
