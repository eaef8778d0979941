"""From wanted trials to replies in a cassette: calls, caps, costs, and the plan of them."""
