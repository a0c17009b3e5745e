"""The command line, thin: read arguments, ask one question, print text or JSON.

main        the way in: errors, exit codes, JSON
arguments   from words to the arguments of a question
completion  scripts for shells
tour        a guided tour
"""
