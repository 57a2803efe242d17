# Буквы карт.

jack = В
queen = Д
king = К
ace = Т
