from . import register


@register("shout")
def run(text):
    return text.upper() + "!"
