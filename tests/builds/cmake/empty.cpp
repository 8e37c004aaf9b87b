// main() comes from the library, which holds linked device code.
