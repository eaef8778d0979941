"""An experiment and replies to it: found, recorded, planned and analysed without pytest."""
