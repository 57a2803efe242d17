# Τα κείμενα του PracticeService. Τα φύλλα έρχονται όπως 10♥· τα γράμματα της γλώσσας τα βάζει το service/text/card_text.py.

situation-trumps = Ατού είναι { $suit }· η τράπουλα έχει τελειώσει.
situation-transfer = Η επίθεση μεταβιβάζεται.
situation-no-draw = Σε αυτό το τραπέζι δεν υπάρχει ισοπαλία.
situation-table = Στο τραπέζι: { $cards }.
situation-taking = Ο αντίπαλος είπε «παίρνω».
situation-hands = Εσείς έχετε { $yours }· ο αντίπαλος { $theirs }.
situation-no-cards = κανένα φύλλο
beaten = { $attack } χτυπημένο με { $card }
suit-clubs = τα σπαθιά (♣)
suit-diamonds = τα καρό (♦)
suit-hearts = οι κούπες (♥)
suit-spades = τα μπαστούνια (♠)
open-hand = Το χέρι του αντιπάλου είναι ανοιχτό για να μπορείτε να υπολογίσετε. Σε μια παρτίδα θα έπρεπε να θυμάστε τι έχει φύγει.

choice-lead = Επίθεση με { $card }
choice-throw = Ρίχνω { $card }
choice-beat = Χτυπώ το { $attack } με { $card }
choice-transfer = Μεταβιβάζω με { $card }
choice-take = Παίρνω
choice-pass = Δεν ρίχνω άλλο
choice-wait = Περιμένω την απάντηση

step-led = { $who ->
    [you] Επιτίθεστε με { $card }.
   *[opponent] Ο αντίπαλος επιτίθεται με { $card }.
}
step-thrown = { $who ->
    [you] Ρίχνετε { $card }.
   *[opponent] Ο αντίπαλος ρίχνει { $card }.
}
step-defended = { $who ->
    [you] Χτυπάτε το { $attack } με { $card }.
   *[opponent] Ο αντίπαλος χτυπά το { $attack } με { $card }.
}
step-transferred = { $who ->
    [you] Μεταβιβάζετε με { $card }.
   *[opponent] Ο αντίπαλος μεταβιβάζει με { $card }.
}
step-passed = { $who ->
    [you] Δεν ρίχνετε άλλο.
   *[opponent] Ο αντίπαλος δεν ρίχνει άλλο.
}
step-take-declared = { $who ->
    [you] Λέτε «παίρνω».
   *[opponent] Ο αντίπαλος λέει «παίρνω».
}
step-took = { $who ->
    [you] Μαζεύετε { $count ->
        [one] { $count } φύλλο
       *[other] { $count } φύλλα
    }.
   *[opponent] Ο αντίπαλος μαζεύει { $count ->
        [one] { $count } φύλλο
       *[other] { $count } φύλλα
    }.
}
step-discarded = { $count ->
    [one] { $count } φύλλο φεύγει από το παιχνίδι.
   *[other] { $count } φύλλα φεύγουν από το παιχνίδι.
}
step-went-out = { $who ->
    [you] Δεν έχετε άλλα φύλλα: βγήκατε.
    [opponent] Ο αντίπαλος δεν έχει άλλα φύλλα και βγήκε.
   *[both] Και τα δύο χέρια είναι άδεια.
}
step-finished = { $outcome ->
    [win] Ντουράκ είναι ο αντίπαλος.
    [loss] Ντουράκ είστε εσείς.
   *[draw] Ισοπαλία.
}

outcome-win = Κερδίσατε.
outcome-draw = Ισοπαλία.
outcome-loss = Χάσατε.
outcome-win-later = Αν παίξετε και οι δύο όσο γίνεται καλύτερα, κερδίζετε.
outcome-draw-later = Αν παίξετε και οι δύο όσο γίνεται καλύτερα, βγαίνει ισοπαλία.
outcome-loss-later = Αν παίξετε και οι δύο όσο γίνεται καλύτερα, χάνετε.

# Κείμενα των ασκήσεων από παρτίδες, που δεν έχουν δικά τους.
mined-title = { $role ->
    [defender] Άμυνα
    [thrower] Ρίξιμο ή στοπ
   *[attacker] Επίθεση
} για { $result ->
    [win] νίκη
   *[draw] ισοπαλία
}: { $cards }
mined-question = { $result ->
    [win] Μόνο μία επιλογή κερδίζει. Ποια;
   *[draw] Μόνο μία επιλογή σώζει την ισοπαλία. Ποια;
}
mined-right = { $result ->
    [win] Τίποτε άλλο δεν κερδίζει.
   *[draw] Όλα τα άλλα χάνουν.
} Εύκολο λάθος: «{ $mistake }».
mined-wrong = { $result ->
    [win] Κερδίζει μόνο το «{ $right }».
   *[draw] Την ισοπαλία τη σώζει μόνο το «{ $right }».
}

list-heading = Ασκήσεις, από τις πιο εύκολες:
list-line = { $number }. { $title } (δυσκολία { $difficulty })
ask-puzzle = Ποια; Γράψτε αριθμό· με Enter η πρώτη.
ask-choice = Τι παίζετε; Γράψτε αριθμό:
ask-number = Γράψτε αριθμό από 1 ως { $last }.
verdict-right = Σωστά.
verdict-wrong = Όχι το καλύτερο.
continuation = Πώς συνεχίζεται, αν παίξουν και οι δύο όσο γίνεται καλύτερα:
menu-next = Η επόμενη άσκηση
menu-again = Η ίδια άσκηση ξανά
menu-list = Όλες οι ασκήσεις
menu-match = Ολόκληρη παρτίδα με μποτ
menu-leave = Έξοδος
