#!/usr/bin/env python3
"""Prints the polynomial coefficients of kernels/math.h.

Each one is a weighted minimax fit (Remez exchange on a dense grid, in 40 digits); the error is printed after the
coefficients are rounded to float. Needs mpmath: python3 scripts/fit_polynomials.py
"""
import struct

from mpmath import atanh, cos, erf, erfc, exp, expm1, log, log1p, lu_solve, matrix, mp, mpf, pi, sin, sqrt, tanh

mp.dps = 40
GRID = 800


def to_float(value):
    return mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def remez(target, weight, degree, points):
    """Coefficients of sum c_k x^k that minimise the largest weighted error on the points."""
    count = degree + 2
    nodes = [int((1 - cos(pi * k / (count - 1))) / 2 * (len(points) - 1)) for k in range(count)]
    values = [(x, target(x), abs(weight(x))) for x in points]
    for _ in range(12):
        system = matrix(count, count)
        right = matrix(count, 1)
        for row, node in enumerate(nodes):
            x, y, w = values[node]
            for column in range(degree + 1):
                system[row, column] = x**column
            system[row, count - 1] = (-1) ** row / w
            right[row] = y
        solution = lu_solve(system, right)
        coefficients = [solution[k] for k in range(count - 1)]
        errors = [w * (sum(c * x**k for k, c in enumerate(coefficients)) - y) for x, y, w in values]
        extrema = [0]
        for i, error in enumerate(errors):  # the largest error of every run of one sign
            if error * errors[extrema[-1]] < 0:
                extrema.append(i)
            elif abs(error) > abs(errors[extrema[-1]]):
                extrema[-1] = i
        if len(extrema) < count:
            break
        while len(extrema) > count:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        if extrema == nodes:
            break
        nodes = extrema
    return coefficients


def fit(name, target, weight, degree, low, high):
    """Fits and prints one polynomial; the weight turns its error into the relative error of the function."""
    middle, half = (mpf(low) + high) / 2, (mpf(high) - low) / 2
    points = [middle - half * cos(pi * (2 * k + 1) / (2 * GRID)) for k in range(GRID)]
    fixed = [to_float(c) for c in remez(target, weight, degree, points)]
    worst = max(abs(weight(x) * (sum(c * x**k for k, c in enumerate(fixed)) - target(x))) for x in points)
    print(f"{name}: worst relative error 2^{float(log(worst, 2)):.1f}")
    for power, value in enumerate(fixed):
        print(f"  c{power} = {mp.nstr(value, 9)}f")


def split(name, value, bits):
    """Prints the parts of a constant; part k has bits[k] significant bits."""
    for count in bits:
        exponent = int(mp.floor(log(abs(value), 2)))
        part = mp.nint(value * mpf(2) ** (count - 1 - exponent)) * mpf(2) ** (exponent + 1 - count)
        print(f"{name}: {mp.nstr(part, 12)}f")
        value -= part


def main():
    ln2 = log(mpf(2))
    fit("exp, (e^f - 1 - f) / f^2", lambda f: (expm1(f) - f) / f**2, lambda f: f**2 / expm1(f), 4, -0.347, 0.347)
    fit("log, (log(1 + f) - f + f^2/2) / f^3", lambda f: (log1p(f) - f + f**2 / 2) / f**3, lambda f: f**3 / log1p(f), 7,
        sqrt(mpf(0.5)) - 1, sqrt(mpf(2)) - 1)
    # The others are polynomials in z, the square of the argument.
    fit("tanh, (tanh(x)/x - 1) / x^2", lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z,
        lambda z: z * sqrt(z) / tanh(sqrt(z)), 3, 0, 0.55**2)
    fit("erf, erf(x)/x - 1", lambda z: erf(sqrt(z)) / sqrt(z) - 1, lambda z: sqrt(z) / erf(sqrt(z)), 5, 0, 0.96**2)
    fit("erf, -log(erfc(t)), a polynomial in t", lambda t: -log(erfc(t)), lambda t: erfc(t) / erf(t), 6, 0.96, 4)
    fit("sin, (sin(f)/f - 1) / f^2", lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z,
        lambda z: z * sqrt(z) / sin(sqrt(z)), 2, 0, 0.786**2)
    fit("cos, (cos(f) - 1 + f^2/2) / f^4", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2 / cos(sqrt(z)), 2, 0, 0.786**2)
    fit("pow, (3 atanh(s)/s - 3 - s^2) / s^4", lambda z: (3 * atanh(sqrt(z)) / sqrt(z) - 3 - z) / z**2,
        lambda z: z**2 / 3, 2, 0, 0.1716**2)
    split("ln2", ln2, (15, 24))
    split("2 / (3 ln2)", 2 / (3 * ln2), (12, 24))
    split("pi/2", pi / 2, (11, 11, 11, 24))


if __name__ == "__main__":
    main()
