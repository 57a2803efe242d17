# Тексты отчёта о проверке в виде страницы (`durak audit report`).

title = Партия { $match }
players = Игроки: { $players }
times = Играли с { $start } по { $end }
state = { $state ->
    [ended] Окончена
   *[running] Ещё идёт
  }, записей: { $records }
verdict-proven = Доказано: нарушений нет, и служба подписала каждый байт записей.
verdict-consistent = Нарушений нет, но записи не доказаны.
verdict-refuted = Опровергнуто, нарушений: { $faults }.
about = О партии
proven = Доказано
not-proven = Не доказано
coins = Монеты
coins-version = Версия
coins-player = Игрок
coins-kind = За что
coins-amount = Монет
coins-entry = { $kind ->
    [stake] ставка
    [refund] возврат ставки
    [payout] доля банка
   *[other] { $kind }
}
fault = Нарушение ({ $kind }, { $clause }): должно быть { $expected }, записано { $found }.
note = Замечание ({ $kind }, { $clause }): должно быть { $expected }, записано { $found }.
illegal = Карта { $card } сыграна против правил ({ $clause }), что за этим столом можно; никто не оспорил.
illegal-caught = Карта { $card } сыграна против правил ({ $clause }), что за этим столом можно; оспорено в версии { $version }.

board-heading = Стол
moves-heading = Ход за ходом
controls = Листать партию
slider = Запись
first = К первой
back = Назад
next = Вперёд
end = К последней
hands = Открытые руки
next-finding = Следующее замечание
keys-heading = Клавиши
keys = ← →: предыдущая или следующая запись · Page Up, Page Down: предыдущий или следующий кон · Home, End: первая или последняя запись · F, Shift+F: следующее или предыдущее замечание · H: открыть или закрыть руки
no-script = Без JavaScript стол не рисуется. Все ходы и замечания перечислены ниже.
footer = Страница сделана только из протокола партии, ничего не загружает и не отправляет. Здесь видны все карты: пока партия идёт, игрокам её не показывайте.

label-attacks = ходит
label-defends = отбивается
label-takes = берёт
label-passed = пас
label-clock = думает
label-out = вышел, место { $place }
label-none = карт нет
label-closed = карт рубашкой вверх: { $count }
label-table = На столе
label-beaten = { $attack }, побита картой { $defence }
label-empty = На столе карт нет
label-trumps = Козырь
label-stock = Колода
label-discard = Бито
label-undealt = Карты не сданы.
label-broken = Из записей до этого места стол не складывается. Ниже — последний правильный стол.
