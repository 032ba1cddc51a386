"""Models that read: sentence encoders on this machine or on a server, rerankers, and which one a name means."""
