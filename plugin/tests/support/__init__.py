"""What tests run against that is no part of the program."""
