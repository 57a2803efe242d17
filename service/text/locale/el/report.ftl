# Τα κείμενα της έκθεσης ενός ελέγχου ως σελίδας (`durak audit report`).

title = Παρτίδα { $match }
players = Παίκτες: { $players }
times = Παίχτηκε από { $start } ως { $end }
state = { $state ->
    [ended] Τελείωσε
   *[running] Συνεχίζεται
  }, εγγραφές: { $records }
verdict-proven = Αποδεδειγμένο: κανένα σφάλμα, και η υπηρεσία έχει υπογράψει κάθε byte των εγγραφών.
verdict-consistent = Κανένα σφάλμα, αλλά οι εγγραφές δεν είναι αποδεδειγμένες.
verdict-refuted = Διαψεύδεται: { $faults ->
    [one] ένα σφάλμα.
   *[other] { $faults } σφάλματα.
  }
about = Η παρτίδα
proven = Αποδεικνύεται
not-proven = Δεν αποδεικνύεται
coins = Μάρκες
coins-version = Έκδοση
coins-player = Παίκτης
coins-kind = Αιτία
coins-amount = Μάρκες
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
keys = ← →: προηγούμενη ή επόμενη εγγραφή · Page Up, Page Down: προηγούμενος ή επόμενος γύρος · Home, End: πρώτη ή τελευταία εγγραφή · F, Shift+F: επόμενο ή προηγούμενο εύρημα · H: χέρια ανοιχτά ή κλειστά
no-script = Χωρίς JavaScript δεν σχεδιάζεται το τραπέζι. Όλες οι κινήσεις και τα ευρήματα είναι παρακάτω.
footer = Φτιάχτηκε μόνο από το αρχείο της παρτίδας. Η σελίδα δεν φορτώνει και δεν στέλνει τίποτα. Δείχνει όλα τα χέρια: μην τη δώσετε σε παίκτες όσο η παρτίδα συνεχίζεται.

label-attacks = επιτίθεται
label-defends = αμύνεται
label-takes = παίρνει
label-passed = πάσο
label-clock = σειρά του
label-out = βγήκε, θέση { $place }
label-none = κανένα φύλλο
label-closed = { $count } φύλλα κλειστά
label-table = Στο τραπέζι
label-beaten = { $attack }, χτυπημένο με { $defence }
label-empty = Κανένα φύλλο στο τραπέζι
label-trumps = Ατού
label-stock = Τράπουλα
label-discard = Εκτός παιχνιδιού
label-undealt = Τα φύλλα δεν έχουν μοιραστεί.
label-broken = Οι εγγραφές ως εδώ δεν δίνουν τραπέζι. Παρακάτω είναι το τελευταίο έγκυρο τραπέζι.
