"""The process in which all hosts live, apart from the process of the API so that neither slows the other."""
