// No device code at all.
int answer() { return 42; }
