"""What people clicked: logs, the bias of places, judging rankings from a log, interleaving."""
