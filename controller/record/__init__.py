"""What a run leaves behind: the journal, the report, and what people are told while it goes on."""
