// The op table: every scalar operation is one row here, and one line in tools/sluice/conformance_rows.cpp.
//
// A row is compiled for the CPU, written as text into every GPU dialect, and generates the traced function, the Tensor
// function and the pullback. Columns:
//
//   name      of the functions and of the enumerator
//   arity     1 to 3 operands, called x, y, z
//   kind      what operands become first: `arithmetic` (bool counts as i32), `ordered` (bool stays), `floating`
//             (integers become f32), `logical` (compared with 0)
//   result    `same` as the operands, or `truth` (bool)
//   text      one C expression in x, y, z. FN(f) is the helper of that name for the type at hand (kernels/scalar.h).
//   dx dy dz  derivatives in x, y, z, the result v and the incoming gradient g; `none` is 0
//
// The derivatives decide singular points: a gradient of 0 stays 0 where the factor is infinite or NaN (div, log, pow,
// sqrt), so that where(x > 0, sqrt(x), 0) has no NaN.
#pragma once

// clang-format off
#define SLUICE_OPS(ROW)                                                                                                \
  ROW(add,         2, arithmetic, same,  FN(add)(x, y),        g,                  g,                      none)       \
  ROW(sub,         2, arithmetic, same,  FN(sub)(x, y),        g,                  -g,                     none)       \
  ROW(mul,         2, arithmetic, same,  FN(mul)(x, y),        g * y,              g * x,                  none)       \
  ROW(div,         2, floating,   same,  x / y,                unless_zero(g, g / y),                                  \
                                                               unless_zero(g, -g * v / y),                 none)       \
  ROW(floor_div,   2, arithmetic, same,  FN(floor_div)(x, y),  none,               none,                   none)       \
  ROW(mod,         2, arithmetic, same,  FN(mod)(x, y),        g,                  -g * floor_div(x, y),   none)       \
  ROW(pow,         2, floating,   same,  FN(pow)(x, y),                                                                \
      unless_zero(g, where(y == 0, 0, g * y * pow(x, y - 1))),                                                         \
      unless_zero(g, where(x <= 0, 0, g * v * log(x))),                                                    none)       \
  ROW(max,         2, ordered,    same,  FN(max)(x, y),        where(x > y, g, 0), where(x > y, 0, g),     none)       \
  ROW(min,         2, ordered,    same,  FN(min)(x, y),        where(x < y, g, 0), where(x < y, 0, g),     none)       \
  ROW(lt,          2, ordered,    truth, x < y,                none,               none,                   none)       \
  ROW(le,          2, ordered,    truth, x <= y,               none,               none,                   none)       \
  ROW(eq,          2, ordered,    truth, x == y,               none,               none,                   none)       \
  ROW(logical_and, 2, logical,    truth, x & y,                none,               none,                   none)       \
  ROW(logical_or,  2, logical,    truth, x | y,                none,               none,                   none)       \
  ROW(logical_not, 1, logical,    truth, x ^ 1,                none,               none,                   none)       \
  ROW(where,       3, ordered,    same,  x != 0 ? y : z,       none,               where(x, g, 0),   where(x, 0, g))   \
  ROW(isnan,       1, ordered,    truth, x != x,               none,               none,                   none)       \
  ROW(neg,         1, arithmetic, same,  FN(neg)(x),           -g,                 none,                   none)       \
  ROW(abs,         1, arithmetic, same,  FN(abs)(x),           g * sign(x),        none,                   none)       \
  ROW(sign,        1, arithmetic, same,  FN(sign)(x),          none,               none,                   none)       \
  ROW(round,       1, arithmetic, same,  FN(round)(x),         none,               none,                   none)       \
  ROW(floor,       1, arithmetic, same,  FN(floor)(x),         none,               none,                   none)       \
  ROW(exp,         1, floating,   same,  FN(exp)(x),           g * v,              none,                   none)       \
  ROW(expm1,       1, floating,   same,  FN(expm1)(x),         g * (v + 1),        none,                   none)       \
  ROW(log,         1, floating,   same,  FN(log)(x),           unless_zero(g, g / x),        none,         none)       \
  ROW(log1p,       1, floating,   same,  FN(log1p)(x),         unless_zero(g, g / (x + 1)),  none,         none)       \
  ROW(sqrt,        1, floating,   same,  FN(sqrt)(x),          unless_zero(g, where(v == 0, 0, g / (2 * v))), none, none)       \
  ROW(tanh,        1, floating,   same,  FN(tanh)(x),          g * (1 - v * v),    none,                   none)       \
  ROW(erf,         1, floating,   same,  FN(erf)(x),           g * 1.1283791670955126 * exp(-x * x), none, none)       \
  ROW(sin,         1, floating,   same,  FN(sin)(x),           g * cos(x),         none,                   none)       \
  ROW(cos,         1, floating,   same,  FN(cos)(x),           -g * sin(x),        none,                   none)
// clang-format on
