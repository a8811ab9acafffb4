"""What is believed of speeds, communication, prices and fleets, from what was measured."""
