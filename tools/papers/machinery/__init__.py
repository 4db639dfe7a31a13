"""What the papers' pages are made with: data, stored results, sections with claims, tables and pictures."""
