"""Reading raw text: finding its files, opening them whatever they are compressed with, cutting them into chunks."""
