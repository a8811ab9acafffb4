"""What both processes and the commands use: files, ports and processes of the operating system."""
