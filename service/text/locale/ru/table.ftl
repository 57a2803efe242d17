# Тексты партии в терминале: настройки, события, стол, ходы. Глаголы стоят в настоящем времени, чтобы не зависеть
# от пола игрока.

settings = { $deck } карт, мест: { $seats }, { $transfer ->
    [yes] переводной
   *[no] подкидной
  }, { $circle ->
    [neighbours] подкидывают соседи
   *[all] подкидывают все
  }, { $draws ->
    [yes] ничья возможна
   *[no] без ничьих
  }
setting-opening = сначала не больше пяти карт
setting-tricky = хитрый стол
setting-timer = { $seconds } с на ход
setting-stake = ставка { $coins }
setting-preset = набор { $preset }

bot = Бот { $seat } { $level ->
    [easy] (лёгкий)
    [normal] (средний)
   *[hard] (сильный)
  }
nobody = место { $seat }

event-table-opened = Открыт стол: { $settings }.
event-seat-taken = { $player } садится на место { $seat }.
event-seat-vacated = { $player } освобождает место { $seat }.
event-player-removed = { $player } — место { $seat } освобождено хозяином стола.
event-seed-revealed = { $player } раскрывает секрет для тасовки.
event-dealt = Карты сданы: козыри { $trump } ({ $card }), в колоде { $stock }.
event-hand = { $player } получает { $cards }.
event-led = { $player } ходит { $card }.
event-thrown-in = { $player } подкидывает { $card }.
event-defended = { $player } бьёт { $attack_card } картой { $card }.
event-transferred = { $player } переводит на игрока { $defender } картой { $card }.
event-passed = { $player } пасует.
event-take-declared = { $player } говорит «беру».
event-took = { $player } забирает карты со стола ({ $count }): { $cards }.
event-took-cheat = { $player } попадается на нечестном ходе и забирает { $cards }.
event-took-false-accusation = { $player } оспаривает честный ход и забирает { $cards }.
event-discarded = Бито: { $count ->
    [one] { $count } карта уходит
    [few] { $count } карты уходят
   *[many] { $count } карт уходит
} в отбой.
drawn = { $count } ({ $cards })
event-drew = Добор: { $draws }.
event-went-out = Выходит, место { $place }: { $players }.
event-challenged = { $player } оспаривает ход игрока { $accused }: { $verdict ->
    [upheld] ход был против правил
   *[legal] ход был по правилам
  }.
event-timed-out = У игрока { $player } вышло время.
event-left = { $player } покидает партию{ $reason ->
    [timeouts] { " " }после трёх просрочек подряд
    [idle] , задержав стол
   *[resigned] { "" }
  }.
event-played-out = { $durak } остаётся в дураках. Места: { $places }.
event-draw = Ничья: { $players }.
event-shares = Выплачено монет: { $shares }.
event-cancelled = Стол закрыт до раздачи.
event-deal-prevented = Стол закрыт до раздачи: { $players } — секрет не раскрыт, или игрок ушёл до раздачи.
event-abandoned = Партия прервана: { $leaver } выходит.

bout = Кон { $bout }: { $attacker } ходит под игрока { $defender } · на руках { $hands } · колода { $stock }
place = { $place }. { $players }

match-phase = { $phase ->
    [waiting] ждёт
    [revealing] тасовка
    [playing] идёт
   *[ended] окончена
  }
table-match = Партия { $match }, версия { $version }: { $settings }.
table-bout = Кон { $bout } · козыри { $trump } ({ $card }) · колода { $stock } · отбой { $discard }
table-waiting = Ждём игроков · { $settings }
table-revealing = Игроки раскрывают секреты для тасовки · { $settings }
table-ended = Партия окончена.
seat-free = свободно
seat-you = вы
seat-attacks = ходит
seat-defends = отбивается
seat-takes = берёт
seat-passed = пас
seat-out = вне игры, место { $place }
seat-to-move = думает
on-table = На столе: { $cards }
attacks-left = { $count ->
    [0] Больше карт в этом кону подкинуть нельзя.
   *[other] Можно подкинуть ещё: { $count }.
  }
hand = Ваши карты: { $cards }
hand-of = Карты игрока { $player }: { $cards }
stock = Колода, сверху вниз: { $cards }

turn-yours = Ваш ход{ $until ->
    [none] { "" }
   *[other] { " " }(до { $until })
  }:
turn-others = Ждём: { $players }.
turn-reveal = Тасовка: ждём секреты игроков { $players }.
seats-free = свободно мест: { $count }
seats-missing =
    Свободных мест: { $count }. Сесть за этот стол:
    { $command }

move-lead = пойти { $card }
move-throw-in = подкинуть { $card }
move-beat = побить { $attack_card } картой { $card }
move-transfer = перевести картой { $card }
move-take = беру
move-pass = пас
move-challenge = оспорить { $card } игрока { $player }

answer-help = Введите номер хода или карту: 6ч, 10♠, Дб, Qd. Чтобы выбрать, какую карту бить, введите обе: 6ч 9ч. Слова: беру, пас, стол, уйти (до сдачи освобождает место, потом заканчивает партию), выход (только из терминала).
answer-help-tricky = Стол хитрый: введите любую свою карту (не номер), и она сыграет в вашей роли, даже против правил. Кого поймали или кто оспорил честный ход, тот забирает карты со стола.
answer-unknown = «{ $answer }» — не ход. Введите ? для справки.
answer-not-now = { $card } сейчас сыграть нельзя.
answer-ambiguous = { $card } можно сыграть по-разному: введите номер.
answer-nothing = Сейчас не ваш ход.
answer-changed = Стол изменился, пока вы выбирали; ход не сделан. Выберите заново.
answer-leave = Уход окончателен и прервёт партию для всех. Введите «уйти» ещё раз, чтобы уйти.
answer-leave-rematch = Если вы уйдёте, реванш закроется для всех. Введите «уйти» ещё раз, чтобы уйти.
answer-leave-revealing = Если вы уйдёте сейчас, карты не сдадут и стол закроется для всех. Введите «уйти» ещё раз, чтобы уйти.
answer-watching = Вы только смотрите: места за столом у вас нет.
watching = Вы смотрите партию: места за столом у вас нет. Выйти — Ctrl-C.

connection-lost = Связь потеряна; пробуем снова …
connection-back = Связь восстановлена.
come-back =
    Партия продолжается без этого терминала. Вернуться за стол:
    { $command }
share-link =
    Стол закрытый. Другие садятся за него так:
    { $command }

come-back-waiting =
    Стол продолжает ждать игроков. Вернуться:
    { $command }

# durak review

review-version = Версия
review-player = Игрок
review-move = Ход
review-result = Лучший исход
review-better = Лучше
review-win = победа
review-draw = ничья
review-loss = поражение
review-undecided = не решено
review-attack = сыграть { $card }
review-wait = подождать
review-clock = вышло время
review-summary = { $player }: исход сохранён — { $kept }, упущен — { $given }, не решено — { $undecided }
review-nothing = Разбирать нечего: ни одного хода не сделано вдвоём при пустой колоде.

play-again =
    Сыграть ещё раз:
    { $command }
review-it =
    Узнать, какие ходы концовки упустили исход:
    { $command }
series-stands =
    Посмотреть счёт серии:
    { $command }
coins-balance = Монеты: { $available }, и ещё { $escrow } в ставках неоконченных партий.
coins-transfer = { $kind ->
    [opening] начальный баланс
    [grant] начисление
    [stake] ставка
    [refund] возврат ставки
    [post] ставка в банк
    [payout] доля банка
    [correction-in] поправка после спора
   *[correction-out] поправка после спора
  }
rating = { $points } { $points ->
    [one] очко
    [few] очка
   *[many] очков
  }  { $player }: партий { $matches }, побед { $wins }, поражений { $losses }, покинуто партий { $left } (из них проигранных { $losing }), очков у ботов за сегодня { $bots }
rating-numbers = Вначале у каждого { $initial } очков. Партия даёт или отнимает не больше { $match }. Разница в { $scale } очков — шансы десять к одному. Боты считаются за { $easy } (лёгкий), { $normal } (средний), { $hard } (сильный); партии с ними дают не больше { $day } очков в день.
series = Сыграно партий: { $matches }, из них вничью: { $draws }
series-seat = { $player }: побед { $wins }, поражений { $losses }

deal-verified = Раздача проверена вашим секретом: карты следуют из него и из всех обещаний, данных до его раскрытия.
deal-false = РАЗДАЧА ПОДДЕЛАНА: { $fault }. Сохраните файл секрета и события и сообщите об этом.
deal-unchecked = Раздачу нельзя проверить: здесь нет вашего секрета, или карты не сдавались.
secret-missing = Вашего секрета для этой тасовки нет на этом компьютере. Раскройте его там, где садились за стол, иначе стол закроется.
secret-refused = Ваш секрет не принят: { $reason }

feed-your-turn = Ваш ход до { $until }: партия { $match }
feed-invitation = { $player } приглашает вас: стол { $match }
feed-rematch-offered = Вам оставлено место в реванше: стол { $match }
feed-seat-taken = { $player } занимает место { $seat }: стол { $match }
feed-bot-seated = Бот занимает место { $seat }: стол { $match }
feed-seat-vacated = { $player } освобождает место { $seat }: стол { $match }
feed-seat-removed = { $player }: удаление с места { $seat }: стол { $match }
feed-dealt = Карты сданы: партия { $match }
feed-match-over = { $outcome ->
    [played-out] Партия окончена
    [draw] Партия окончилась вничью
    [cancelled] Стол закрыт до раздачи
   *[abandoned] Партия прервана
  }: { $match }
feed-dispute = { $status ->
    [open] Жалоба рассматривается
    [correction-pending] Решение с поправкой монет ждёт оператора
    [upheld] Жалоба признана верной
   *[rejected] Жалоба отклонена
  }: спор { $dispute } о партии { $match }
feed-coins-moved = Монет: { $coins }, доступно { $available }: { $kind }
feed-rating-changed = Ваш рейтинг: { $points }, партия { $match }
