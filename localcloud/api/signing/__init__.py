"""Who may call the API: a request is answered only if it is signed with a key of this cloud (Signature Version 4)."""
