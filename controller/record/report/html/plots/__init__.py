"""The plots of the report, a module each: every plot is drawn wide for screens and paper, and narrow for phones."""
