# Τα κείμενα μιας παρτίδας στο τερματικό: ρυθμίσεις, γεγονότα, τραπέζι, κινήσεις. Τα ρήματα είναι στον ενεστώτα,
# ώστε να μην εξαρτώνται από το γένος του παίκτη.

settings = { $deck } φύλλα, { $seats } θέσεις, { $transfer ->
    [yes] με μεταβίβαση
   *[no] χωρίς μεταβίβαση
  }, { $circle ->
    [neighbours] ρίχνουν οι διπλανοί
   *[all] ρίχνουν όλοι
  }, { $draws ->
    [yes] με ισοπαλία
   *[no] χωρίς ισοπαλία
  }
setting-opening = στην αρχή ως πέντε φύλλα
setting-tricky = με κόλπα
setting-timer = { $seconds } δ. για κάθε κίνηση
setting-stake = ποντάρισμα { $coins }
setting-preset = έτοιμοι κανόνες { $preset }

bot = Bot { $seat } { $level ->
    [easy] (εύκολο)
    [normal] (μέτριο)
   *[hard] (δύσκολο)
  }
nobody = θέση { $seat }

event-table-opened = Άνοιξε τραπέζι: { $settings }.
event-seat-taken = { $player } κάθεται στη θέση { $seat }.
event-seat-vacated = { $player } αφήνει τη θέση { $seat }.
event-player-removed = { $player } απομακρύνεται από τη θέση { $seat }.
event-seed-revealed = { $player } αποκαλύπτει το μυστικό για το ανακάτεμα.
event-dealt = Τα φύλλα μοιράστηκαν: ατού { $trump } ({ $card }), { $stock } φύλλα στην τράπουλα.
event-hand = { $player } παίρνει { $cards }.
event-led = { $player } επιτίθεται με { $card }.
event-thrown-in = { $player } ρίχνει { $card }.
event-defended = { $player } χτυπά το { $attack_card } με { $card }.
event-transferred = { $player } μεταβιβάζει στον παίκτη { $defender } με { $card }.
event-passed = { $player } πάει πάσο.
event-take-declared = { $player } λέει «παίρνω».
event-took = { $player } μαζεύει από το τραπέζι { $count ->
    [one] ένα φύλλο
   *[other] { $count } φύλλα
  }: { $cards }.
event-took-cheat = { $player } πιάνεται να κλέβει και μαζεύει { $cards }.
event-took-false-accusation = { $player } αμφισβητεί νόμιμη κίνηση και μαζεύει { $cards }.
event-discarded = Χτυπήθηκαν: { $count } φύλλα βγαίνουν από το παιχνίδι.
drawn = { $count } ({ $cards })
event-drew = Τραβούν: { $draws }.
event-went-out = Βγαίνει στη θέση κατάταξης { $place }: { $players }.
event-challenged = { $player } αμφισβητεί το φύλλο του παίκτη { $accused }: { $verdict ->
    [upheld] ήταν παράνομο
   *[legal] ήταν νόμιμο
  }.
event-timed-out = { $player }: ο χρόνος τελείωσε.
event-left = { $player } εγκαταλείπει την παρτίδα{ $reason ->
    [timeouts] { " " }μετά από τρεις λήξεις χρόνου στη σειρά
    [idle] { " " }αφού καθυστέρησε το τραπέζι
   *[resigned] { "" }
  }.
event-played-out = { $durak } είναι ο ντουράκ. Κατάταξη: { $places }.
event-draw = Ισοπαλία: { $players }.
event-shares = Μάρκες που αποδόθηκαν: { $shares }.
event-cancelled = Το τραπέζι έκλεισε πριν από το μοίρασμα.
event-deal-prevented = Το τραπέζι έκλεισε πριν από το μοίρασμα: { $players } – το μυστικό δεν αποκαλύφθηκε ή ο παίκτης έφυγε πριν από το μοίρασμα.
event-abandoned = Η παρτίδα διακόπηκε: έφυγε { $leaver }.

bout = Γύρος { $bout }: { $attacker } επιτίθεται, αμύνεται { $defender } · χέρια { $hands } · τράπουλα { $stock }
place = { $place }. { $players }

match-phase = { $phase ->
    [waiting] αναμονή
    [revealing] ανακάτεμα
    [playing] παίζεται
   *[ended] τέλος
  }
table-match = Παρτίδα { $match }, έκδοση { $version }: { $settings }.
table-bout = Γύρος { $bout } · ατού { $trump } ({ $card }) · τράπουλα { $stock } · εκτός { $discard }
table-waiting = Αναμονή για παίκτες · { $settings }
table-revealing = Οι παίκτες αποκαλύπτουν τα μυστικά τους για το ανακάτεμα · { $settings }
table-ended = Η παρτίδα τελείωσε.
seat-free = ελεύθερη
seat-you = εσείς
seat-attacks = επιτίθεται
seat-defends = αμύνεται
seat-takes = παίρνει
seat-passed = πάσο
seat-out = εκτός, κατάταξη { $place }
seat-to-move = παίζει
on-table = Στο τραπέζι: { $cards }
attacks-left = { $count ->
    [0] Σε αυτόν τον γύρο δεν ρίχνονται άλλα φύλλα.
    [one] Επιτρέπεται ακόμη ένα φύλλο επίθεσης.
   *[other] Επιτρέπονται ακόμη { $count } φύλλα επίθεσης.
  }
hand = Το χέρι σας: { $cards }
hand-of = Το χέρι του παίκτη { $player }: { $cards }
stock = Τράπουλα, με τη σειρά που θα τραβηχτεί: { $cards }

turn-yours = Σειρά σας{ $until ->
    [none] { "" }
   *[other] { " " }(έως { $until })
  }:
turn-others = Αναμονή: { $players }.
turn-reveal = Ανακάτεμα: αναμονή για τα μυστικά των { $players }.
seats-free = ελεύθερες θέσεις: { $count }
seats-missing =
    Ελεύθερες θέσεις: { $count }. Για να καθίσει κάποιος:
    { $command }

move-lead = επίθεση με { $card }
move-throw-in = ρίχνω { $card }
move-beat = χτυπώ το { $attack_card } με { $card }
move-transfer = μεταβιβάζω με { $card }
move-take = παίρνω
move-pass = πάσο
move-challenge = αμφισβητώ το { $card } του παίκτη { $player }

answer-help = Γράψτε τον αριθμό της κίνησης ή ένα φύλλο: 6h, 10♠, Qd, Ν♦. Για να διαλέξετε ποιο φύλλο χτυπάτε, γράψτε και τα δύο: 6h 9h. Λέξεις: παίρνω, πάσο, τραπέζι, φεύγω (πριν από το μοίρασμα αφήνει τη θέση, μετά τελειώνει την παρτίδα), έξοδος (μόνο από το τερματικό).
answer-help-tricky = Τραπέζι με κόλπα: γράφοντας ένα φύλλο παίζετε όποιο έχετε στον ρόλο σας, ακόμη και παράνομο. Όποιος πιαστεί, ή αμφισβητήσει νόμιμο φύλλο, μαζεύει το τραπέζι.
answer-unknown = «{ $answer }» δεν είναι κίνηση. Γράψτε ? για βοήθεια.
answer-not-now = { $card } δεν παίζεται τώρα.
answer-ambiguous = { $card } παίζεται με πολλούς τρόπους: γράψτε τον αριθμό.
answer-nothing = Δεν είναι η σειρά σας.
answer-changed = Το τραπέζι άλλαξε όσο διαλέγατε· δεν παίχτηκε τίποτα. Διαλέξτε ξανά.
answer-leave = Η αποχώρηση είναι οριστική και τελειώνει την παρτίδα για όλους. Γράψτε «φεύγω» ξανά για να φύγετε.
answer-leave-rematch = Αν φύγετε, η ρεβάνς κλείνει για όλους. Γράψτε «φεύγω» ξανά για να φύγετε.
answer-leave-revealing = Αν φύγετε τώρα, τα φύλλα δεν μοιράζονται και το τραπέζι κλείνει για όλους. Γράψτε «φεύγω» ξανά για να φύγετε.
answer-watching = Μόνο παρακολουθείτε: δεν έχετε θέση.
watching = Παρακολουθείτε την παρτίδα: δεν έχετε θέση. Έξοδος με Ctrl-C.

connection-lost = Η σύνδεση χάθηκε· νέα προσπάθεια …
connection-back = Η σύνδεση αποκαταστάθηκε.
come-back =
    Η παρτίδα συνεχίζεται χωρίς αυτό το τερματικό. Για να επιστρέψετε:
    { $command }
share-link =
    Το τραπέζι είναι ιδιωτικό. Οι άλλοι μπαίνουν με:
    { $command }

come-back-waiting =
    Το τραπέζι συνεχίζει να περιμένει παίκτες. Για να επιστρέψετε:
    { $command }

# durak review

review-version = Έκδοση
review-player = Παίκτης
review-move = Κίνηση
review-result = Καλύτερο αποτέλεσμα
review-better = Καλύτερα
review-win = νίκη
review-draw = ισοπαλία
review-loss = ήττα
review-undecided = δεν κρίθηκε
review-attack = παίζω { $card }
review-wait = περιμένω
review-clock = έληξε ο χρόνος
review-summary = { $player }: κράτησε το αποτέλεσμα { $kept }, το έχασε { $given }, δεν κρίθηκαν { $undecided }
review-nothing = Δεν υπάρχει τίποτα να εξεταστεί: καμία κίνηση δεν έγινε με δύο παίκτες και άδεια τράπουλα.

play-again =
    Για να παίξετε ξανά:
    { $command }
review-it =
    Για να δείτε ποιες κινήσεις στο τέλος έχασαν το αποτέλεσμα:
    { $command }
series-stands =
    Για να δείτε το σκορ της σειράς:
    { $command }
coins-balance = Μάρκες: { $available }, και { $escrow } σε πονταρίσματα παρτίδων που δεν τελείωσαν.
coins-transfer = { $kind ->
    [opening] αρχικό υπόλοιπο
    [grant] χορήγηση
    [stake] ποντάρισμα
    [refund] επιστροφή πονταρίσματος
    [post] ποντάρισμα στην μπάνκα
    [payout] μερίδιο της μπάνκας
    [correction-in] διόρθωση μετά από ένσταση
   *[correction-out] διόρθωση μετά από ένσταση
  }
rating = { $points } πόντοι  { $player }: παρτίδες { $matches }, νίκες { $wins }, ήττες { $losses }, εγκαταλείψεις { $left } (από αυτές χαμένες θέσεις { $losing }), πόντοι από μποτ σήμερα { $bots }
rating-numbers = Όλοι αρχίζουν με { $initial } πόντους. Μια παρτίδα δίνει ή παίρνει έως { $match }. Διαφορά { $scale } πόντων σημαίνει πιθανότητες δέκα προς ένα. Τα μποτ μετρούν { $easy } (εύκολο), { $normal } (μέτριο), { $hard } (δύσκολο)· οι παρτίδες μαζί τους δίνουν έως { $day } πόντους τη μέρα.
series = Παρτίδες που παίχτηκαν: { $matches }, από αυτές ισοπαλίες: { $draws }
series-seat = { $player }: νίκες { $wins }, ήττες { $losses }

deal-verified = Το μοίρασμα επαληθεύτηκε με το μυστικό σας: τα φύλλα προκύπτουν από αυτό και από όλες τις υποσχέσεις πριν από την αποκάλυψή του.
deal-false = ΤΟ ΜΟΙΡΑΣΜΑ ΕΙΝΑΙ ΨΕΥΔΕΣ: { $fault }. Φυλάξτε το αρχείο του μυστικού και τα γεγονότα και αναφέρετέ το.
deal-unchecked = Το μοίρασμα δεν μπορεί να ελεγχθεί: δεν υπάρχει εδώ δικό σας μυστικό ή δεν μοιράστηκαν φύλλα.
secret-missing = Το μυστικό σας για αυτό το ανακάτεμα δεν είναι σε αυτόν τον υπολογιστή. Αποκαλύψτε το από εκεί που καθίσατε, αλλιώς το τραπέζι κλείνει.
secret-refused = Το μυστικό σας δεν έγινε δεκτό: { $reason }

feed-your-turn = Η σειρά σας έως { $until }: παρτίδα { $match }
feed-invitation = { $player } σας προσκαλεί: τραπέζι { $match }
feed-rematch-offered = Μια ρεβάνς έχει θέση για εσάς: τραπέζι { $match }
feed-seat-taken = { $player } κάθισε στη θέση { $seat }: τραπέζι { $match }
feed-bot-seated = Ένα μποτ κάθισε στη θέση { $seat }: τραπέζι { $match }
feed-seat-vacated = { $player } άφησε τη θέση { $seat }: τραπέζι { $match }
feed-seat-removed = { $player } απομακρύνθηκε από τη θέση { $seat }: τραπέζι { $match }
feed-dealt = Τα φύλλα μοιράστηκαν: παρτίδα { $match }
feed-match-over = { $outcome ->
    [played-out] Η παρτίδα τελείωσε
    [draw] Η παρτίδα έληξε ισόπαλη
    [cancelled] Το τραπέζι έκλεισε πριν από τη μοιρασιά
   *[abandoned] Η παρτίδα διακόπηκε
  }: { $match }
feed-dispute = { $status ->
    [open] Μια ένσταση εξετάζεται
    [correction-pending] Μια απόφαση με διόρθωση μαρκών περιμένει τον διαχειριστή
    [upheld] Η ένσταση έγινε δεκτή
   *[rejected] Η ένσταση απορρίφθηκε
  }: ένσταση { $dispute } για την παρτίδα { $match }
feed-coins-moved = Μάρκες: { $coins }, διαθέσιμες { $available }: { $kind }
feed-rating-changed = Η βαθμολογία σας: { $points }, παρτίδα { $match }
