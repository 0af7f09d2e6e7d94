import locale

locale.setlocale(locale.LC_ALL, "")
print(locale.getlocale(), locale.localeconv()["decimal_point"])
print(locale.currency(12.5, symbol=False) if locale.localeconv()["int_curr_symbol"] else "no currency")
print(sorted(["b", "A", "a", "B"], key=locale.strxfrm))
