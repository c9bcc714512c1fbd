"""Uses of the public names that type checkers must accept, and wrong ones that they must refuse."""
