# Τα γράμματα των φύλλων.

jack = Β
queen = Ν
king = Ρ
ace = Α
