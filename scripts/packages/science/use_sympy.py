# uses: equations, derivatives, integrals, LaTeX, a compiled expression
# expect: [2, 3] 2*x*cos(x**2) sqrt(pi) \frac{1}{x} 25.0 [[-2, 1], [3/2, -1/2]]
import sympy as sp

x = sp.symbols("x")
print(
    sp.solve(x**2 - 5 * x + 6, x),
    sp.diff(sp.sin(x**2), x),
    sp.integrate(sp.exp(-(x**2)), (x, -sp.oo, sp.oo)),
    sp.latex(1 / x),
    sp.lambdify(x, x**2)(5.0),
    sp.Matrix([[1, 2], [3, 4]]).inv().tolist(),
)
