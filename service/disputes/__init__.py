"""DisputeService: complaints, evidence, rulings and corrections."""
