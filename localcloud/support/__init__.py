"""What both processes and the commands use: files, ports, processes, logging and the words of validation errors."""
