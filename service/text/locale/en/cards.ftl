# The letters of the cards.

jack = J
queen = Q
king = K
ace = A
