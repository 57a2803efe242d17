# Тексты PracticeService. Карты приходят в виде 10♥; буквы языка подставляет service/text/card_text.py.

situation-trumps = Козыри — { $suit }; колода пуста.
situation-transfer = Атаку можно переводить.
situation-no-draw = Ничьих за этим столом нет.
situation-table = На столе: { $cards }.
situation-taking = Соперник сказал «беру».
situation-hands = У вас { $yours }; у соперника { $theirs }.
situation-no-cards = карт нет
beaten = { $attack } под { $card }
suit-clubs = трефы (♣)
suit-diamonds = бубны (♦)
suit-hearts = червы (♥)
suit-spades = пики (♠)
open-hand = Рука соперника открыта, чтобы можно было всё рассчитать. В настоящей партии пришлось бы помнить, что ушло в отбой.

choice-lead = Зайти { $card }
choice-throw = Подкинуть { $card }
choice-beat = Побить { $attack } картой { $card }
choice-transfer = Перевести картой { $card }
choice-take = Взять
choice-pass = Больше не подкидывать
choice-wait = Подождать ответа

step-led = { $who ->
    [you] Вы заходите { $card }.
   *[opponent] Соперник заходит { $card }.
}
step-thrown = { $who ->
    [you] Вы подкидываете { $card }.
   *[opponent] Соперник подкидывает { $card }.
}
step-defended = { $who ->
    [you] Вы бьёте { $attack } картой { $card }.
   *[opponent] Соперник бьёт { $attack } картой { $card }.
}
step-transferred = { $who ->
    [you] Вы переводите картой { $card }.
   *[opponent] Соперник переводит картой { $card }.
}
step-passed = { $who ->
    [you] Вы больше не подкидываете.
   *[opponent] Соперник больше не подкидывает.
}
step-take-declared = { $who ->
    [you] Вы говорите «беру».
   *[opponent] Соперник говорит «беру».
}
step-took = { $who ->
    [you] Вы забираете { $count ->
        [one] { $count } карту
        [few] { $count } карты
       *[many] { $count } карт
    }.
   *[opponent] Соперник забирает { $count ->
        [one] { $count } карту
        [few] { $count } карты
       *[many] { $count } карт
    }.
}
step-discarded = { $count ->
    [one] { $count } карта уходит в отбой.
    [few] { $count } карты уходят в отбой.
   *[many] { $count } карт уходят в отбой.
}
step-went-out = { $who ->
    [you] У вас больше нет карт: вы вышли.
    [opponent] У соперника больше нет карт, он вышел.
   *[both] Обе руки пусты.
}
step-finished = { $outcome ->
    [win] Соперник — дурак.
    [loss] Вы в дураках.
   *[draw] Ничья.
}

outcome-win = Вы выиграли.
outcome-draw = Ничья.
outcome-loss = Вы проиграли.
outcome-win-later = Если оба дальше играют лучшим образом, вы выигрываете.
outcome-draw-later = Если оба дальше играют лучшим образом, будет ничья.
outcome-loss-later = Если оба дальше играют лучшим образом, вы проигрываете.

# Тексты задач из партий: своих текстов у них нет.
mined-title = { $role ->
    [defender] Защититься
    [thrower] Подкинуть или остановиться
   *[attacker] Зайти
} и { $result ->
    [win] выиграть
   *[draw] спасти ничью
}: { $cards }
mined-question = { $result ->
    [win] Выигрывает только один ход. Какой?
   *[draw] Ничью спасает только один ход. Какой?
}
mined-right = { $result ->
    [win] Больше ничего не выигрывает.
   *[draw] Всё остальное проигрывает.
} Легко ошибиться: «{ $mistake }».
mined-wrong = { $result ->
    [win] Выигрывает только «{ $right }».
   *[draw] Ничью спасает только «{ $right }».
}

list-heading = Задачи, начиная с лёгких:
list-line = { $number }. { $title } (сложность { $difficulty })
ask-puzzle = Какую? Введите номер; Enter — первая.
ask-choice = Как сыграете? Введите номер:
ask-number = Введите число от 1 до { $last }.
verdict-right = Верно.
verdict-wrong = Не лучший ход.
continuation = Дальше, если оба играют лучшим образом:
menu-next = Следующая задача
menu-again = Та же задача ещё раз
menu-list = Все задачи
menu-match = Полная партия против бота
menu-leave = Выйти
