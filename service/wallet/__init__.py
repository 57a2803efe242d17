"""WalletService: balances, transfers and grants of coins."""
