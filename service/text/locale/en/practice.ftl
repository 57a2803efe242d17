# The texts of PracticeService. Cards come as in 10♥; service/text/card_text.py puts in the letters of the language.

situation-trumps = Trumps are { $suit }; the stock is empty.
situation-transfer = Attacks can be transferred.
situation-no-draw = There are no draws at this table.
situation-table = On the table: { $cards }.
situation-taking = The opponent has said “take”.
situation-hands = You hold { $yours }; the opponent holds { $theirs }.
situation-no-cards = nothing
beaten = { $attack } beaten by { $card }
suit-clubs = clubs (♣)
suit-diamonds = diamonds (♦)
suit-hearts = hearts (♥)
suit-spades = spades (♠)
open-hand = The opponent's hand is open so that you can work out the best move. In a match you would have to remember the discarded cards.

choice-lead = Lead { $card }
choice-throw = Throw in { $card }
choice-beat = Beat { $attack } with { $card }
choice-transfer = Transfer with { $card }
choice-take = Take
choice-pass = Throw in nothing more
choice-wait = Wait for the answer

step-led = { $who ->
    [you] You lead { $card }.
   *[opponent] The opponent leads { $card }.
}
step-thrown = { $who ->
    [you] You throw in { $card }.
   *[opponent] The opponent throws in { $card }.
}
step-defended = { $who ->
    [you] You beat { $attack } with { $card }.
   *[opponent] The opponent beats { $attack } with { $card }.
}
step-transferred = { $who ->
    [you] You transfer with { $card }.
   *[opponent] The opponent transfers with { $card }.
}
step-passed = { $who ->
    [you] You throw in nothing more.
   *[opponent] The opponent throws in nothing more.
}
step-take-declared = { $who ->
    [you] You say “take”.
   *[opponent] The opponent says “take”.
}
step-took = { $who ->
    [you] You pick up { $count ->
        [one] { $count } card
       *[other] { $count } cards
    }.
   *[opponent] The opponent picks up { $count ->
        [one] { $count } card
       *[other] { $count } cards
    }.
}
step-discarded = { $count ->
    [one] { $count } card goes to the discard pile.
   *[other] { $count } cards go to the discard pile.
}
step-went-out = { $who ->
    [you] You have no cards left: you are out.
    [opponent] The opponent has no cards left and is out.
   *[both] Both hands are empty.
}
step-finished = { $outcome ->
    [win] The opponent is the durak.
    [loss] You are the durak.
   *[draw] A draw.
}

outcome-win = You win.
outcome-draw = It is a draw.
outcome-loss = You lose.
outcome-win-later = With best play by both, you win from here.
outcome-draw-later = With best play by both, it is a draw from here.
outcome-loss-later = With best play by both, you lose from here.

# Texts of puzzles from matches, which have no texts of their own.
mined-title = { $role ->
    [defender] Defend
    [thrower] Throw in or stop
   *[attacker] Lead
} to { $result ->
    [win] win
   *[draw] draw
}: { $cards }
mined-question = { $result ->
    [win] Only one choice wins. Which one?
   *[draw] Only one choice does not lose. Which one?
}
mined-right = { $result ->
    [win] Nothing else wins.
   *[draw] Everything else loses.
} A mistake that is easily made: “{ $mistake }”.
mined-wrong = { $result ->
    [win] Only “{ $right }” wins.
   *[draw] Only “{ $right }” does not lose.
}

list-heading = Puzzles, the easiest first:
list-line = { $number }. { $title } (difficulty { $difficulty })
ask-puzzle = Which one? Type a number, or Enter for the first.
ask-choice = What do you play? Type a number:
ask-number = Type a number from 1 to { $last }.
verdict-right = Right.
verdict-wrong = Not the best.
continuation = How it continues with best play by both:
menu-next = The next puzzle
menu-again = The same puzzle again
menu-list = All puzzles
menu-match = A full match against a bot
menu-leave = Leave
