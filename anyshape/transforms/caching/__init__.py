"""Keep the programs of one function, and explain why a call needed another one."""
