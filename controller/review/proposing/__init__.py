"""Proposals of the controller: the pull request, its branch and its text, and the approval by people."""
