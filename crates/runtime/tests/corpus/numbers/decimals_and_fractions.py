from decimal import ROUND_HALF_UP, Decimal, DivisionByZero, getcontext, localcontext
from fractions import Fraction

print(0.1 + 0.2, Decimal("0.1") + Decimal("0.2"), Fraction(1, 10) + Fraction(2, 10))
print(Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP), getcontext().prec)
with localcontext() as ctx:
    ctx.prec = 50
    print(Decimal(2).sqrt())
print(Fraction("0.125"), Fraction(3.14159).limit_denominator(100), Fraction(7, 3) ** 2)
try:
    Decimal(1) / 0
except DivisionByZero as e:
    print(type(e).__name__)
print(f"{Decimal('1234567.891'):,.2f}", Decimal("1E+3").normalize(), Decimal(1.1))
