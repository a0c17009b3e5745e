"""The command line, thin: read arguments, ask one question, print text or JSON.

main        the way in: errors, exit codes, JSON
arguments   what commands share: layouts, options, completion
commands    one module a command: `arguments(parser)` and `answer(args)`
operations  what `algebra` can run; `words` reads what they take, `orders` knows CuTe's flat order
"""
