# One or two sentences for each reason of errors.proto: the problem, and the next step for the player.

malformed-field = The request is not filled in correctly. Correct the fields that are named and send it again.
not-dealable = This deck is too small for so many seats. Choose a larger deck or fewer seats.
preset-locked = The preset fixes one of the settings that you changed. Leave it as it is, or open a table without a preset.
unknown-preset = There is no preset with that name. Choose one from the list.
page-token-invalid = This list cannot be continued from here. Start again from its first page.
request-id-reused = This request number was already used for another command. Send the command again with a new number.

token-missing = You are not signed in. Sign in and try again.
token-invalid = Your sign-in was not accepted. Sign in again.
token-expired = Your sign-in has expired. Sign in again and continue where you were.
token-keys-stale = Sign-ins cannot be checked at the moment. Try again in a few seconds.
role-required = Your account may not do this.
not-seated = You do not sit at this table. Take a seat first; until then you can only watch.
not-owner = Only the player who opened the table may do this.
seat-reserved = This seat is reserved for the player who had it before. Take your own seat.
own-match = You played in this match, so you cannot audit it. Ask another auditor.

match-not-found = There is no such match. Check the link or the number.
version-beyond-head = The match has not reached that version yet. Watch it from a move that you have already seen.
stale-version = The table has changed in the meantime. Look at it and decide again.
puzzle-not-found = There is no such puzzle. Choose one from the list.
checkpoint-not-found = There is no checkpoint of that size. Ask for the newest one.
contention = Too much is happening at this table at once. Try the same move again.

match-not-in-play = This match is not being played: it has not begun yet, or it is over.
match-not-waiting = The table is full or the match is over, so seats can no longer change.
match-not-ended = The match is still going on. Wait until it is over.
seat-taken = Somebody already sits there. Choose another seat.
table-full = All seats are taken. Look for another table.
already-seated = You already sit at this table.
no-bots-at-staked-table = Bots do not play for coins. Open a table without a stake to play with them.
insufficient-coins = You have { $balance_coins } coins, but the stake is { $stake_coins }. Choose a table with a lower stake.
rematch-impossible = This match ended before the deal, so it cannot be played again. Open a new table.
given-up-too-often = You have given up your seat at this table too often. Look for another table.
removed-from-table = The player who opened this table removed you from it. Look for another table.
player-not-seated = This player does not sit at the table. Look at the seats again.
not-invited = This table is private. Ask the player who opened it for an invitation or the link.

seat-is-out = You are already out of the match. You can watch how it ends.
not-your-turn = It is another player's turn to do that.
card-not-held = You do not have that card. Play one from your hand.
rank-not-on-table = You can only throw in a rank that already lies on the table.
not-a-neighbour = At this table only the defender's neighbours throw in.
cap-reached = No more cards can be added to this attack.
no-such-attack-card = The card that you want to beat is not on the table.
already-beaten = That card is beaten already. Choose one that is not.
does-not-beat = Your card does not beat that one. Play a higher card of the same suit, or a trump.
take-declared = You have said “take” and cannot change that.
nothing-to-take = There is nothing to take: every card is beaten.
transfer-off = Attacks are not transferred at this table. Beat the cards or take them.
not-the-rank-led = You can only transfer with a card of the rank that was led.
transfer-too-late = You have begun to beat, so the attack can no longer be transferred. Beat the rest or take.
transfer-too-many = The next player cannot face that many cards. Beat them or take.
pass-too-early = It is too early to pass. Wait until the cards are beaten or the defender takes.
already-passed = You have passed already. Wait for the others.
nothing-to-pass = You cannot throw in now, so you cannot pass either.
not-tricky = Cheating is not allowed at this table, so there is nothing to challenge.
no-such-play = There is no such play in this bout. Challenge one that is still on the table.
own-play = You cannot challenge your own play.
nothing-led = Nothing has been led yet. Wait for the attacker.

rate-limited = You are going too fast. Wait a moment and try again.
too-many-watches = You are watching too many tables. Leave one first.
slow-watcher = Your connection could not keep up. Watch again from the last move that you saw; nothing is lost.
log-changed = The service was restored to an earlier state. Load this match again.
too-many-tables = You have too many open tables. Play one to its end or close one first.
too-many-seats = You are seated at too many tables. Finish a match first, or leave a table that waits.

draining = The server is restarting. Try again in a moment; nothing that you played is lost.
overloaded = The server is very busy. Try again in a moment.
store-unavailable = The move could not be confirmed just now. Send the same request again; it will not be played twice.
internal = Something went wrong on the server. Do not repeat the request; report this number to the operator: { $trace_id }.

match-not-dealt = The cards are not dealt yet. Wait for the deal.
not-in-checkpoint = This is not in that checkpoint. Wait for the next checkpoint, after the end of a match.
log-corrupt = The stored match is corrupt. Report it to the operator.

dispute-not-found = There is no such dispute. Check the number.
dispute-too-late = This match could be disputed until { $until }. It is too late now.
too-many-disputes = You have too many open disputes about this match. Wait until they are decided.
no-stake = This table had no stake, so nothing was paid out. Dispute a move instead.
dispute-not-open = This dispute has been decided already. Look at the ruling.
correction-not-pending = No correction waits for a decision here. Look at the dispute again.
correction-unbalanced = These corrections are not possible. They must add up to 0 and concern only players of the match.
correction-not-covered = { $player_id } has { $balance_coins } coins, and { $needed_coins } are needed. Decline the correction, so that the auditor can rule again.
own-ruling = You made this ruling yourself. Leave it to another operator.

match-not-revealing = No secrets are being revealed at this table now. Look at the table.
no-secret-promised = You promised no secret for this shuffle, so there is nothing to reveal.
secret-does-not-fit = This is not the secret that you promised for this match. Send the one that you drew when you sat down.
already-revealed = Your secret is revealed already.
seating-suspended = You prevented the deal at several tables. You can take a seat again at { $until }.
opening-coins-locked = You can stake the coins that came with your account after { $needed_matches } free matches played to the end. So far: { $played_matches }. Play without a stake first.
own-grant = You cannot grant coins to yourself, or approve your own proposal. Leave it to another operator.
grant-limit-reached = One operator may grant { $limit_coins } coins in 24 hours, and you have { $left_coins } left. Wait, or grant less.
access-not-recorded = This match is still running. Record a reason to open it, or wait for its end.
correction-over-bank = All corrections of a match together can move at most its bank of { $bank_coins } coins. Left: { $left_coins }.
grant-not-found = No operator has proposed this grant.
grant-closed = This grant was approved before, or its time was over at { $expire_time }. Propose it again if it is still needed.

feed-position-invalid = This is not a position of your feed. Start the feed again from now, and load your lists again.
