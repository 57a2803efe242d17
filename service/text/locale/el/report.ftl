# Η έκθεση ενός ελέγχου ως σελίδα (`durak audit report`).

title = Παρτίδα { $match }
players = Παίκτες: { $players }
times = Παίχτηκε από { $start } ως { $end }
state = { $state ->
    [ended] Τελείωσε
   *[running] Συνεχίζεται
  }, εγγραφές: { $records }
verdict-proven = Αποδεδειγμένο: κανένα σφάλμα, και η υπηρεσία έχει υπογράψει για κάθε byte των εγγραφών.
verdict-consistent = Κανένα σφάλμα, αλλά κανείς δεν εγγυάται για τις εγγραφές.
verdict-refuted = Διαψεύδεται: { $faults ->
    [one] ένα σφάλμα.
   *[other] { $faults } σφάλματα.
  }
about = Η παρτίδα
proven = Τι αποδεικνύεται
not-proven = Τι δεν αποδεικνύεται
coins = Νομίσματα
coins-version = Έκδοση
coins-player = Παίκτης
coins-kind = Γιατί
coins-amount = Νομίσματα
coins-entry = { $kind ->
    [stake] ποντάρισμα
    [refund] επιστροφή πονταρίσματος
    [payout] μερίδιο της μπάνκας
   *[other] { $kind }
}
fault = Σφάλμα ({ $kind }, { $clause }): έπρεπε { $expected }, βρέθηκε { $found }.
note = Σημείωση ({ $kind }, { $clause }): έπρεπε { $expected }, βρέθηκε { $found }.
illegal = Το { $card } παίχτηκε παράνομα ({ $clause }), πράγμα που σε αυτό το τραπέζι επιτρέπεται· δεν αμφισβητήθηκε.
illegal-caught = Το { $card } παίχτηκε παράνομα ({ $clause }), πράγμα που σε αυτό το τραπέζι επιτρέπεται· πιάστηκε στην έκδοση { $version }.

board-heading = Το τραπέζι
moves-heading = Κίνηση προς κίνηση
controls = Περιήγηση στην παρτίδα
slider = Εγγραφή
first = Πρώτη
back = Πίσω
next = Μπροστά
end = Τελευταία
hands = Ανοιχτά χέρια
next-finding = Επόμενο εύρημα
keys-heading = Πλήκτρα
keys = ← → μία εγγραφή πίσω ή μπροστά · Page Up, Page Down: ανά γύρο · Home, End: η πρώτη, η τελευταία · F: το επόμενο εύρημα, Shift+F: το προηγούμενο · H: χέρια ανοιχτά ή κλειστά
no-script = Χωρίς σενάρια δεν σχεδιάζεται το τραπέζι· όλες οι κινήσεις και τα ευρήματα είναι παρακάτω.
footer = Φτιάχτηκε μόνο από το αρχείο της παρτίδας. Η σελίδα δεν φορτώνει και δεν στέλνει τίποτα. Δείχνει όλα τα χέρια: μην τη δώσετε σε παίκτες όσο η παρτίδα συνεχίζεται.

label-attacks = επιτίθεται
label-defends = αμύνεται
label-takes = παίρνει
label-passed = πάσο
label-clock = σειρά του
label-out = βγήκε, θέση { $place }
label-none = κανένα χαρτί
label-closed = { $count } χαρτιά κλειστά
label-table = Στο τραπέζι
label-beaten = { $attack }, το σκότωσε το { $defence }
label-empty = Κανένα χαρτί στο τραπέζι
label-trumps = Ατού
label-stock = Τράπουλα
label-discard = Πεταμένα
label-undealt = Τα χαρτιά δεν έχουν μοιραστεί.
label-broken = Από τις εγγραφές ως εδώ δεν βγαίνει τραπέζι. Παρακάτω είναι το τελευταίο που βγήκε.
