"""Materials to choose from: friction of like on like in dry air, and what bounces, as engineering tables give them."""
from __future__ import annotations

#        label        friction sliding restitution density [kg/m^3]
PRESETS = {
    "RUBBER": ("Rubber", 1.0, 0.8, 0.7, 1100.0),
    "WOOD": ("Wood", 0.5, 0.4, 0.3, 600.0),
    "STEEL": ("Steel", 0.7, 0.5, 0.5, 7850.0),
    "ALUMINIUM": ("Aluminium", 1.0, 0.8, 0.4, 2700.0),
    "ICE": ("Ice", 0.1, 0.03, 0.1, 917.0),
    "STONE": ("Stone", 0.65, 0.6, 0.2, 2500.0),
    "PLASTIC": ("Plastic (ABS)", 0.4, 0.35, 0.4, 1050.0),
    "GLASS": ("Glass", 0.9, 0.4, 0.6, 2500.0),
}
items = [("OWN", "Own", "Numbers of your own")] + [
    (key, label, f"friction {mu}, sliding {sliding}, restitution {bounce}, {density:g} kg/m^3")
    for key, (label, mu, sliding, bounce, density) in PRESETS.items()
]


def chosen(target, _context=None) -> None:
    """Fills in the numbers of a preset."""
    if target.preset not in PRESETS:
        return
    label, mu, sliding, bounce, density = PRESETS[target.preset]
    target.material = label.lower()
    target.friction, target.kinetic_friction, target.restitution = mu, sliding, bounce
    target.density = target.shape_density = density
