"""`python -m tilewise` is the command `tilewise`."""

from tilewise.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
