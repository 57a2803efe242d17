"""RulesService: presets and the rule sheet of a table."""
